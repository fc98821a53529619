"""What leaves the store when it is full or old: the oldest unnamed images first."""

from __future__ import annotations

import time
from collections.abc import Callable

from scale._machine import in_words
from scale.live.config import WatchConfig
from scale.live.store import Store
from scale.methods import Learner

AT_ONCE = 500  # images
DAY = 86400.0
LEAVING = (
    "SELECT id FROM images WHERE pixels IS NOT NULL AND batch <= ? AND came < ? AND id > ? "
    "AND id NOT IN (SELECT image FROM names) "
    "AND id NOT IN (SELECT image FROM events WHERE image IS NOT NULL AND state = 'open') "
    "ORDER BY id LIMIT ?"
)


class Retention:
    """Keeps the store within `keep_gb` and `keep_days`.

    What stays: named images, images in the learner's memory, those of open events, and those that
    a checkpoint does not hold yet. Of the others pixels, thumbnail and embedding leave.

    Parameters
    ----------
    store
        The store.
    config
        Options of the live learner.
    tell
        Called once with a message when what has to stay is larger than the budget.
    """

    def __init__(self, store: Store, config: WatchConfig, tell: Callable[[str], None]) -> None:
        self.store, self.tell = store, tell
        self.bytes = None if config.keep_gb is None else config.keep_gb * 1e9
        self.seconds = None if config.keep_days is None else config.keep_days * DAY
        self._told = False

    def apply(self, learner: Learner, checkpointed: int) -> int:
        """Remove what has to leave, and return the number of images.

        Parameters
        ----------
        learner
            The learner; images in its memory stay.
        checkpointed
            Number of batches in the oldest checkpoint; later images stay.
        """
        if self.bytes is None and self.seconds is None:
            return 0
        removed = 0
        held = in_memory(learner)
        if self.seconds is not None:
            before = time.time() - self.seconds
            removed += self._remove(held, checkpointed, before, lambda: True)
        if self.bytes is not None and self._is_over():
            removed += self._remove(held, checkpointed, float("inf"), self._is_over)
            if self._is_over() and not self._told:
                self._told = True
                self.tell(
                    f"the images that have to stay take {in_words(self.store.disk_bytes())}, more "
                    "than --keep-gb allows: named ones, the learner's memory, and the latest"
                )
        if removed:
            self.store.query("PRAGMA incremental_vacuum")
        return removed

    def _remove(
        self, held: set[int], checkpointed: int, before: float, more: Callable[[], bool]
    ) -> int:
        """Remove the oldest images that came before a time, while `more` says so."""
        removed, last = 0, 0
        while more():
            rows = self.store.query(LEAVING, checkpointed, before, last, AT_ONCE)
            if not rows:
                break
            last = rows[-1][0]
            leaving = [row[0] for row in rows if row[0] not in held]
            self.store.remove(leaving)
            removed += len(leaving)
        return removed

    def _is_over(self) -> bool:
        return self.bytes is not None and self.store.disk_bytes() > self.bytes


def in_memory(learner: Learner) -> set[int]:
    """Return the numbers of the images in a live learner's memory.

    Images are learned in order of arrival and each once, so the first has number 1.
    """
    with learner.reading() as still:
        if still.memory_ is None:
            return set()
        return {int(at) + 1 for at in still.memory_.arrivals}
