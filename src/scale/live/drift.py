"""Drift: how far the last images are from those of the whole past, in standard units."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import numpy as np

from scale._errors import NonFiniteFeaturesError
from scale.live.rows import times
from scale.live.store import Store
from scale.live.view import Vectors

RECENT = 32  # the last images
PAST = 96  # images spread evenly over the time before
FEWEST = 32  # images of the past that can be compared with


def choose(store: Store) -> tuple[list[int], list[int]]:
    """Return the last images, and images spread evenly over all before them."""
    sql = "SELECT id FROM images WHERE pixels IS NOT NULL ORDER BY id DESC LIMIT ?"
    recent = [row[0] for row in store.query(sql, RECENT)][::-1]
    if len(recent) < RECENT:
        return recent, []
    first = int(store.query("SELECT MIN(id) FROM images WHERE pixels IS NOT NULL")[0][0])
    if first == recent[0]:
        return recent, []
    places = np.linspace(first, recent[0] - 1, PAST).round().astype(int).tolist()
    return recent, list(times(store, list(dict.fromkeys(places))))


def measure(recent: Vectors, past: Vectors) -> float | None:
    """Return how far the mean of the last images is from that of the past ones.

    The unit is the spread of the past: the root mean square distance of its images to their mean.
    32 images drawn from the past at random are at about 0.2. At 1, the last images as a whole are
    as far from the past as one of its images usually is.

    Returns
    -------
    None if there are too few images, or all of the past are equal.

    Examples
    --------
    >>> past = np.tile(np.float32([[1, 0], [-1, 0]]), (16, 1))
    >>> measure(past, past), measure(past + np.float32([0, 2]), past)
    (0.0, 2.0)
    """
    if not len(recent) or len(past) < FEWEST:
        return None
    centre = past.mean(0)
    spread = float(np.sqrt(np.square(past - centre).sum(1).mean()))
    return float(np.linalg.norm(recent.mean(0) - centre)) / spread if spread > 1e-9 else None


class Kept:
    """The last measured drift.

    Parameters
    ----------
    ask
        Measures it.
    """

    def __init__(self, ask: Callable[[], float | None]) -> None:
        self._ask = ask
        self._at: tuple[int, int] | None = None
        self.value: float | None = None

    def renew(self, step: int, last_image: int) -> None:
        """Measure drift, unless neither the learner's view nor the images have changed."""
        if (step, last_image) != self._at:
            self._at = (step, last_image)
            with contextlib.suppress(NonFiniteFeaturesError):
                self.value = self._ask()
