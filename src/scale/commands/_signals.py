"""Signals that stop a command before, after or outside the learning of a run."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

_received: list[int] = []


class Stopped(KeyboardInterrupt):
    """SIGTERM or SIGHUP: like Ctrl-C, it lets files be tidied up."""


@contextlib.contextmanager
def stopping_tidily() -> Iterator[None]:
    """Within the block, Ctrl-C, SIGTERM and SIGHUP raise; what is ignored stays ignored."""
    _received.clear()
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = signal.signal(number, _note)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stopped_by(error: BaseException) -> int | None:
    """Return the signal that caused `error`, or None.

    An import that a signal interrupts may end in another error than KeyboardInterrupt.
    """
    if isinstance(error, KeyboardInterrupt):
        return _received[-1] if _received else signal.SIGINT
    return _received[-1] if _received else None


def _note(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    raise KeyboardInterrupt if number == signal.SIGINT else Stopped
