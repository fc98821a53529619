"""What one source is known to show: a bounded sample of its images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from scale.live.layout import Layouts

DELAY = 12  # frames until one counts as known; else the second of a new kind would know the first
EVEN = 96  # images spread evenly over the past
RECENT = 32  # images of the near past
NORMAL = 128  # images of what a person called normal
FEWEST = 8  # known images that can be compared
LISTS = ("even", "recent", "waiting", "normal")


@dataclass(frozen=True)
class Seen:
    """An image: its number, its places among frames and images of the scene, and its layout."""

    id: int
    place: int
    nth: int
    layout: Layouts = field(repr=False)


class Known:
    """Images of one source that count as known.

    They are spread evenly over the past (whenever there are too many, every second one leaves), or
    recent, or were called normal by a person. An image is known after a delay.
    """

    def __init__(self) -> None:
        self.count = 0  # images so far
        self.frames = 0  # images so far, and frames in which the last one stayed
        self.stride = 1  # every which image is kept for long
        self.even: list[Seen] = []
        self.recent: list[Seen] = []
        self.waiting: list[Seen] = []
        self.normal: list[Seen] = []

    def add(self, number: int, layout: Layouts) -> Seen:
        """Take the next image; those before the delay become known."""
        seen = Seen(number, self.frames, self.count, layout)
        self.count += 1
        self.waiting.append(seen)
        self.stay(1)
        return seen

    def stay(self, frames: int) -> None:
        """Let the last image stay in view for a number of frames."""
        self.frames += frames
        while self.waiting and self.waiting[0].place < self.frames - DELAY:
            self._learn(self.waiting.pop(0))

    def accept(self, number: int, layout: Layouts) -> None:
        """Take an image that a person called normal; it is known at once."""
        place = -DELAY - len(self.normal) - 1
        self.normal = [*self.normal, Seen(number, place, place, layout)][-NORMAL:]

    def all(self) -> list[Seen]:
        """Return what is known, each image once, the oldest first."""
        by_id = {seen.id: seen for seen in (*self.normal, *self.even, *self.recent)}
        return sorted(by_id.values(), key=lambda seen: seen.id)

    def forget(self, gone: set[int]) -> None:
        """Drop images that are no longer stored."""
        for name in LISTS:
            setattr(self, name, [seen for seen in getattr(self, name) if seen.id not in gone])

    def state(self) -> dict[str, Any]:
        """Return the state without the layouts, for JSON."""
        lists = {name: [(s.id, s.place, s.nth) for s in getattr(self, name)] for name in LISTS}
        return {"count": self.count, "frames": self.frames, "stride": self.stride, **lists}

    @classmethod
    def restored(
        cls, state: dict[str, Any], look_up: Callable[[Sequence[int]], dict[int, Layouts]]
    ) -> Known:
        """Return what was known; `look_up` gives the layouts of images that are still stored."""
        known = cls()
        known.count, known.stride = state["count"], state["stride"]
        known.frames = state.get("frames", known.count)  # older versions counted images only
        found = look_up([number for name in LISTS for number, *_ in state[name]])
        for name in LISTS:
            kept = [
                Seen(number, places[0], places[-1], found[number])
                for number, *places in state[name]
                if number in found
            ]
            setattr(known, name, kept)
        return known

    def _learn(self, seen: Seen) -> None:
        self.recent = [*self.recent, seen][-RECENT:]
        if seen.nth % self.stride == 0:
            self.even.append(seen)
        if len(self.even) > EVEN:
            self.stride *= 2
            self.even = [one for one in self.even if one.nth % self.stride == 0]


def stacked(seen: Sequence[Seen]) -> Layouts:
    """Return the layouts of images, (n, 16, 12)."""
    return np.stack([one.layout for one in seen]) if seen else np.zeros((0, 16, 12), np.float32)


def usual(
    far: npt.NDArray[np.floating[Any]], places: npt.NDArray[np.int64], quantile: float, gap: int
) -> float | None:
    """Return a quantile of the distances of known images to the nearest other ones.

    Parameters
    ----------
    far
        Distances between known images, (n, n).
    places
        Place of each in the stream; those less than `gap` apart are not compared, because
        neighbouring frames are nearly equal.
    quantile
        The quantile.
    gap
        Least distance in the stream.

    Returns
    -------
    None if fewer than 8 images can be compared.
    """
    near = np.abs(places[:, None] - places[None]) < gap
    least = np.where(near, np.inf, far).min(1, initial=np.inf)
    least = least[np.isfinite(least)]
    return float(np.quantile(least, quantile)) if len(least) >= FEWEST else None
