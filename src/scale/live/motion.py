"""What moves in front of a camera that stands still."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image
from scipy import ndimage

from scale.data.pixels import to_rgb
from scale.live.packing import Small, pack, unpack
from scale.live.pictures import Box, Frame

CELLS = 64  # along the longer side
CHANGE = 18.0  # grey levels between a cell and its background, from which on it moves
FEWEST_CELLS = 4  # that touch each other and move
LEARNED = 0.05  # share of a new frame in the background
MARGIN = 0.25  # of a box, added on each side
MOST_BOXES = 4


class Motion:
    """A background, and the boxes of what differs from it.

    The background is a running mean of small grey frames, with a time constant of 20 frames. A
    change of the whole frame's brightness does not count.

    Examples
    --------
    >>> street = np.full((90, 160, 3), 90, np.uint8)
    >>> motion = Motion()
    >>> motion.boxes(street), motion.boxes(street)
    ([], [])
    >>> car = street.copy()
    >>> car[30:60, 40:80] = 250
    >>> motion.boxes(car)
    [(30, 15, 60, 60)]
    """

    def __init__(self) -> None:
        self.background: Small | None = None

    def boxes(self, frame: Frame) -> list[Box]:
        """Return left, top, width and height of the largest things that move, at most four.

        The first frame becomes the background: nothing moves in it.
        """
        cells = _cells(frame)
        if self.background is None or self.background.shape != cells.shape:
            self.background = cells
            return []
        change = cells - self.background
        moving = np.abs(change - np.median(change)) > CHANGE
        self.background = self.background + np.float32(LEARNED) * change
        return [_in_frame(box, cells.shape, frame.shape) for box in _groups(moving)]

    def state(self) -> dict[str, Any] | None:
        """Return the state, JSON-able."""
        return None if self.background is None else pack(self.background)

    def load(self, state: dict[str, Any] | None) -> None:
        """Restore a state."""
        self.background = None if state is None else unpack(state)


def _cells(frame: Frame) -> Small:
    height, width = frame.shape[:2]
    scale = CELLS / max(height, width)
    size = (max(round(width * scale), 1), max(round(height * scale), 1))
    grey = Image.fromarray(np.ascontiguousarray(to_rgb(frame))).convert("L")
    return np.asarray(grey.resize(size, Image.Resampling.BOX), dtype=np.float32)


def _groups(moving: npt.NDArray[np.bool_]) -> list[tuple[slice, slice]]:
    """Return the boxes of cells that move and touch each other, the largest groups first."""
    # Neighbours within two cells belong together: a thing is rarely all unlike its background.
    marks, count = ndimage.label(ndimage.binary_dilation(moving, np.ones((3, 3), bool)))
    sizes = ndimage.sum_labels(moving, marks, np.arange(1, count + 1))
    order = sorted(range(count), key=lambda i: (-sizes[i], i))
    places = ndimage.find_objects(np.where(moving, marks, 0), max_label=count)
    return [places[i] for i in order if sizes[i] >= FEWEST_CELLS][:MOST_BOXES]


def _in_frame(box: tuple[slice, slice], cells: tuple[int, ...], frame: tuple[int, ...]) -> Box:
    """Return a box of cells as a square in the frame, with a margin; it stays inside."""
    high, wide = frame[0] / cells[0], frame[1] / cells[1]
    top, bottom = box[0].start * high, box[0].stop * high
    left, right = box[1].start * wide, box[1].stop * wide
    side = round(max(bottom - top, right - left) * (1 + 2 * MARGIN))
    width, height = min(side, frame[1]), min(side, frame[0])
    x = round((left + right - width) / 2)
    y = round((top + bottom - height) / 2)
    return max(min(x, frame[1] - width), 0), max(min(y, frame[0] - height), 0), width, height
