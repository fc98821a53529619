"""Ctrl-C, SIGTERM and SIGHUP: finish the current batch or measurement, then stop."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from scale._errors import ScaleError
from scale._text import shell_line

IN_STREAM = "finishing this batch, then saving"
SAME_SECONDS = 0.5
"""A signal this soon after the first is its echo: `timeout` and other wrappers send two."""


class RunInterrupted(ScaleError):
    """The user stopped the run; its state is saved.

    `saved` is False if it had not begun to learn, and `command` goes on with it.
    """

    exit_status = 130

    def __init__(self, out: Path, what: str = "stopped and saved") -> None:
        again = shell_line(["scale", "run", "--out", str(out), "--resume"])
        super().__init__(f"{what}; go on with: {again}")
        self.saved, self.command = "saved" in what, again


class Interrupts:
    """Within the block, the first signal sets `requested`; a second Ctrl-C stops at once.

    A closed terminal sends SIGHUP, often twice, so only Ctrl-C stops at once. Under `nohup`,
    SIGHUP stays ignored.

    Parameters
    ----------
    tell
        Called with a message for the user.
    plan
        Message for the first signal. It may be changed inside the block.
    """

    def __init__(self, tell: Callable[[str], None], plan: str = IN_STREAM) -> None:
        self.requested = False
        self.plan = plan
        self._tell = tell
        self._first = 0.0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if number is signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
                    continue
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            again = time.monotonic() - self._first > SAME_SECONDS
            if number == signal.SIGINT and again:
                raise KeyboardInterrupt
            return
        self.requested, self._first = True, time.monotonic()
        self._tell(f"{self.plan}; once more stops at once")
