"""Ctrl-C and SIGTERM: finish the current batch or measurement, then stop."""

from __future__ import annotations

import shlex
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from scale._errors import ScaleError

IN_STREAM = "finishing this batch, then saving"


class RunInterrupted(ScaleError):
    """The user stopped the run; its state is saved."""

    def __init__(self, out: Path, what: str = "stopped and saved") -> None:
        again = shlex.join(["scale", "run", "--out", str(out), "--resume"])
        super().__init__(f"{what}; go on with: {again}")


class Interrupts:
    """Within the block, the first Ctrl-C or SIGTERM sets `requested`; the second stops at once.

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
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        self._tell(f"{self.plan}; once more stops at once")
