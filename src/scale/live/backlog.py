"""The images that wait to be learned from, and what happens when too many do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable

POLL = 0.2  # seconds between two looks at a stop


class Backlog:
    """Counts the images that wait, and keeps them bounded.

    A folder or a video file waits when its images fill the queue: nothing of it is lost. A camera
    cannot wait. Of its images, a queue that fills up first lowers the updates per batch, from a
    quarter to a half full, and then the share of images that is taken, from a half to full.

    Parameters
    ----------
    room
        Images that may wait.
    batch_size
        Images in a batch.
    waiting
        How many images wait already.
    live
        The numbers of those that are of live sources.

    Examples
    --------
    >>> backlog = Backlog(400, 50)
    >>> def with_waiting(n):
    ...     backlog.added(range(len(backlog.live), n), live=True)
    ...     return backlog.updates(5), backlog.share()
    >>> [with_waiting(n) for n in (50, 100, 150, 200, 300, 400)]
    [(5, 1.0), (5, 1.0), (3, 1.0), (1, 1.0), (1, 0.5), (1, 0.0)]
    """

    def __init__(
        self, room: int, batch_size: int, waiting: int = 0, live: Iterable[int] = ()
    ) -> None:
        self.room, self.batch_size = max(room, 2 * batch_size), batch_size
        self.waiting, self.live = waiting, set(live)
        self._changed = threading.Condition()

    def added(self, numbers: Collection[int], *, live: bool) -> None:
        """Count images that came."""
        with self._changed:
            self.waiting += len(numbers)
            self.live.update(numbers if live else ())
            self._changed.notify_all()

    def taken(self, numbers: Collection[int]) -> None:
        """Count images that went into a batch."""
        with self._changed:
            self.waiting -= len(numbers)
            self.live.difference_update(numbers)
            self._changed.notify_all()

    def is_full(self) -> bool:
        """Return whether images that can wait have to."""
        return self.waiting - len(self.live) >= self.room

    def wait_for_room(self, stop: Callable[[], bool]) -> bool:
        """Wait until an image may come that can wait; return False if stopped before."""
        with self._changed:
            while self.is_full() and not stop():
                self._changed.wait(POLL)
        return not stop()

    def wait_for_batch(self, seconds: float) -> None:
        """Wait until there are enough images for a batch, or something else happened."""
        with self._changed:
            if self.waiting < self.batch_size:
                self._changed.wait(seconds)

    def wake(self) -> None:
        """End all waiting, so that everybody looks again."""
        with self._changed:
            self._changed.notify_all()

    def updates(self, steps: int) -> int:
        """Return the updates for the next batch."""
        over = (len(self.live) / self.room - 0.25) / 0.25
        return max(round(steps - (steps - 1) * min(max(over, 0), 1)), 1)

    def share(self) -> float:
        """Return the share of live images to take."""
        return min(max(2 - 2 * len(self.live) / self.room, 0.0), 1.0)
