"""How much of a picture differs from another one: colours of cells, place by place."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F

CELLS = 4  # cells a side
PARTS = 2  # parts of a cell a side, each one mean colour
MOST_GAIN = 2.0  # between two pictures of the same in other light, or with other exposure

Layouts = npt.NDArray[np.float32]  # (n, 16, 12) in 0..1


def layouts(images: npt.NDArray[np.uint8]) -> Layouts:
    """Return the mean colours of the parts of each cell of images, (n, 3, h, w)."""
    side = CELLS * PARTS
    means = F.adaptive_avg_pool2d(torch.from_numpy(images).float() / 255, side)  # (n, 3, 8, 8)
    grid = means.reshape(len(images), 3, CELLS, PARTS, CELLS, PARTS)
    return grid.permute(0, 2, 4, 1, 3, 5).reshape(len(images), CELLS**2, -1).numpy()


def apart(a: Layouts, b: Layouts) -> npt.NDArray[np.float32]:
    """Return the median over cells of the root mean square difference of colours, (n, m).

    At least half of the picture differs by that much. A thing that covers less than half, even if
    it was never seen, hardly counts, and neither does the same picture up to twice as bright.

    Examples
    --------
    >>> black, white = np.zeros((1, 3, 8, 8), np.uint8), np.full((1, 3, 8, 8), 255, np.uint8)
    >>> half = np.concatenate([white[:, :, :3], black[:, :, 3:]], axis=2)
    >>> apart(layouts(black), layouts(np.concatenate([white, half]))).round(2)
    array([[0.71, 0.  ]], dtype=float32)
    >>> apart(layouts(white // 2), layouts(white)).round(2)
    array([[0.]], dtype=float32)
    """
    if not len(a) or not len(b):
        return np.zeros((len(a), len(b)), np.float32)
    cells_a = torch.from_numpy(np.ascontiguousarray(a)).transpose(0, 1)  # (16, n, 12)
    cells_b = torch.from_numpy(np.ascontiguousarray(b)).transpose(0, 1)
    products = cells_a @ cells_b.transpose(1, 2)  # (16, n, m)
    squares_a = cells_a.square().sum(2)[:, :, None]  # (16, n, 1)
    squares_b = cells_b.square().sum(2)[:, None]  # (16, 1, m)

    def far(gain: torch.Tensor) -> torch.Tensor:
        """Return the median differences after b was made so much brighter and a as much darker."""
        squares = squares_a / gain + squares_b * gain - 2 * products
        median: torch.Tensor = (squares.clamp(min=0) / a.shape[2]).sqrt().median(0).values
        return median  # (n, m)

    as_they_are = torch.ones(len(a), len(b))
    nearest = torch.minimum(far(as_they_are), far(_gains(cells_a, cells_b)))
    found: npt.NDArray[np.float32] = nearest.numpy()
    return found


def _gains(cells_a: torch.Tensor, cells_b: torch.Tensor) -> torch.Tensor:
    """Return how much brighter pictures a are than pictures b, (n, m), at most twice.

    The brightness of a picture is that of its median cell.
    """
    bright_a, bright_b = (one.mean(2).median(0).values + 1e-3 for one in (cells_a, cells_b))
    return (bright_a[:, None] / bright_b).clamp(1 / MOST_GAIN, MOST_GAIN)
