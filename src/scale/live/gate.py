"""The gate before the learner: which frames, and which parts of them, are worth learning from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image

from scale.data.pixels import to_rgb
from scale.live.config import WatchConfig
from scale.live.every import Every
from scale.live.kept import table_in
from scale.live.motion import Motion
from scale.live.packing import Small, pack, unpack
from scale.live.pictures import Box, Frame

SIDE, BLOCK = 32, 4  # of the small copy that frames are compared by, and of its parts
SKIPPED_EVERY, STILL, BLANK, DUPLICATE = "every", "still", "blank", "duplicate"


@dataclass(frozen=True)
class Verdict:
    """What the gate said: why a frame is skipped, or the boxes to take; None is the whole frame."""

    reason: str | None
    boxes: tuple[Box | None, ...] = ()


class Gate:
    """Decides on the frames of one source, one after the other.

    Frames are asked about in this order: `every`, motion, blank, duplicate. The state is small,
    and a gate with the same state decides the same.

    Parameters
    ----------
    config
        Options of the live learner.
    every
        How often frames are taken if the user did not say it; None takes all.
    """

    def __init__(self, config: WatchConfig, every: Every | None = None) -> None:
        self.every = every if config.every is None else Every.parse(config.every)
        self.blanks, self.duplicates = config.blanks, config.duplicates
        self.crop = config.crop == "motion"
        self.motion = Motion() if config.motion or self.crop else None
        self.frames = 0
        self.last: float | None = None  # time of the last frame that `every` let through
        self.reference: Small | None = None  # the last one taken, small
        self.looked = 0  # frames that were taken, or duplicates of the last one taken

    def is_due(self, taken: float) -> bool:
        """Return whether `every` lets the next frame through; ask once for each frame."""
        due = self._is_due(self.frames, taken)
        self.frames += 1
        if due:
            self.last = taken
        return due

    def look(self, frame: Frame) -> Verdict:
        """Return the verdict on a frame that is due."""
        boxes: list[Box] = []
        if self.motion is not None:
            boxes = self.motion.boxes(frame)
            if not boxes:
                return Verdict(STILL)
        small = shrink(frame)
        if self.blanks and small.std(axis=(0, 1)).max() < self.blanks:
            return Verdict(BLANK)
        if self._is_duplicate(small):
            self.looked += not self.crop  # the last crop is no picture of the whole frame
            return Verdict(DUPLICATE)
        self.looked += 1
        self.reference = small
        return Verdict(None, tuple(boxes) if self.crop else (None,))

    def _is_due(self, number: int, taken: float) -> bool:
        if self.every is None:
            return True
        if self.every.unit == "f":
            return number % int(self.every.amount) == 0
        # A clock that was set back starts anew. Times of frames are rounded, and those of some
        # videos go back a little: frames are not always stored in the order they are shown in.
        return self.last is None or abs(taken - self.last) >= self.every.amount - 1e-3

    def _is_duplicate(self, small: Small) -> bool:
        if not self.duplicates or self.reference is None:
            return False
        return difference(small, self.reference) < self.duplicates

    def state(self) -> str:
        """Return the state as JSON."""
        kept: dict[str, Any] = {"frames": self.frames, "last": self.last, "looked": self.looked}
        if self.reference is not None:
            kept["reference"] = pack(self.reference)
        if self.motion is not None:
            kept["motion"] = self.motion.state()
        return json.dumps(kept)

    def load(self, state: str) -> None:
        """Restore a state."""
        kept = table_in(state)
        self.frames, self.last = kept["frames"], kept["last"]
        self.looked = kept.get("looked", 0)  # states of older versions have none
        if "reference" in kept:
            self.reference = unpack(kept["reference"])
        if self.motion is not None and "motion" in kept:
            self.motion.load(kept["motion"])


def shrink(frame: Frame) -> Small:
    """Return a frame as 32 x 32 means, (32, 32, 3) in 0..255."""
    image = Image.fromarray(np.ascontiguousarray(to_rgb(frame)))
    return np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BOX), dtype=np.float32)


def difference(a: Small, b: Small) -> float:
    """Return how much the parts of two small frames differ at most, in grey levels of 255.

    A change of the whole frame's brightness, as cameras make it by themselves, does not count.
    A part is an eighth of the side, so that noise is averaged out.

    Examples
    --------
    >>> grey = np.full((32, 32, 3), 100, np.float32)
    >>> brighter, changed = grey + 20, grey.copy()
    >>> changed[:4, :4] += 64
    >>> difference(grey, brighter), difference(grey, changed)
    (0.0, 63.0)
    """
    change = a - b
    change = change - change.mean(axis=(0, 1))
    parts = SIDE // BLOCK
    blocks = change.reshape(parts, BLOCK, parts, BLOCK, 3).mean(axis=(1, 3))  # (8, 8, 3)
    return float(np.abs(blocks).max())
