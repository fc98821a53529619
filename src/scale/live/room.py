"""Room on the disk: images are taken only while the learner can still be saved."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from scale._errors import UnwritableError
from scale._machine import in_words

LEAST_FREE = 8_000_000  # bytes that images leave free
CHECKPOINTS = 3  # whose size images leave free
SECONDS = 0.5  # between two tries
T = TypeVar("T")


class StoppedError(Exception):
    """The watcher stops while it waits for room; nothing is lost."""


class Room:
    """Watches the disk of a folder.

    Parameters
    ----------
    folder
        Folder of the live learner.
    tell
        Called with a message when the disk is full, and when there is room again.
    """

    def __init__(self, folder: Path, tell: Callable[[str], None]) -> None:
        self.folder, self._tell = folder, tell
        self.reserve = LEAST_FREE
        self.problem = ""
        self._lock = threading.Lock()

    @property
    def is_full(self) -> bool:
        """Whether the last write failed."""
        return bool(self.problem)

    def needs(self, checkpoint: int) -> None:
        """Keep room for checkpoints of this size, in bytes."""
        self.reserve = max(LEAST_FREE, CHECKPOINTS * checkpoint)

    def check(self, size: int) -> None:
        """Raise `UnwritableError` if these bytes would leave too little room for the learner."""
        free = shutil.disk_usage(self.folder).free
        if free < self.reserve + 2 * size:
            raise UnwritableError(
                f"the disk of {self.folder} has {in_words(free)} left, and {in_words(self.reserve)}"
                " are kept free to save the learner; free some space"
            )

    def tell_full(self, problem: str) -> None:
        """Say once that nothing can be written."""
        with self._lock:
            known, self.problem = self.problem, problem
        if not known:
            self._tell(f"{problem}; no images are taken until then, and nothing is lost")

    def tell_free(self) -> None:
        """Say once that there is room again."""
        with self._lock:
            known, self.problem = self.problem, ""
        if known:
            self._tell("there is room on the disk again; going on")

    def wait(self, stopping: Callable[[], bool]) -> bool:
        """Wait a moment before the next try; return False if stopped."""
        end = time.monotonic() + SECONDS
        while not stopping() and time.monotonic() < end:
            time.sleep(SECONDS / 10)
        return not stopping()

    def keep_trying(self, write: Callable[[], T], stopping: Callable[[], bool]) -> T:
        """Return what `write` returns, as soon as the disk lets it; raise `StoppedError`."""
        while True:
            try:
                done = write()
            except UnwritableError as error:
                self.tell_full(str(error))
                if not self.wait(stopping):
                    raise StoppedError from error
            else:
                return done
