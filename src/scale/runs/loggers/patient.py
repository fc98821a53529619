"""Calls of a logger in a thread of its own, so that a run can leave one that does not answer."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from queue import SimpleQueue
from threading import Thread
from typing import Any

from scale._errors import ScaleError

PATIENCE = 60.0
"""Seconds that a run waits for one call; a tracking server may take a while to start a run."""


class Patient:
    """Makes one call after another in a thread, and waits for each a limited time.

    Parameters
    ----------
    name
        Name of the thread.
    """

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        # A daemon, so that a call which never returns does not keep the program alive.
        Thread(target=self._work, name=name, daemon=True).start()

    def __call__(self, do: Callable[[], Any]) -> Any:
        """Return what `do` returns, or raise what it raises, also `SystemExit`."""
        outcome: Future[Any] = Future()
        self._calls.put((do, outcome))
        try:
            return outcome.result(PATIENCE)
        except Late:
            if outcome.done():  # its own, not ours
                raise
            raise ScaleError(f"no answer within {PATIENCE:g} seconds") from None

    def _work(self) -> None:
        while True:
            do, outcome = self._calls.get()
            try:
                outcome.set_result(do())
            except BaseException as error:  # the caller gets it
                outcome.set_exception(error)
            del do, outcome  # they hold the logger while the next call is awaited
