"""How much of a picture differs from another one: colours of cells, place by place."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F

CELLS = 4  # cells a side
PARTS = 2  # parts of a cell a side, each one mean colour

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
    it was never seen, hardly counts.

    Examples
    --------
    >>> black, white = np.zeros((1, 3, 8, 8), np.uint8), np.full((1, 3, 8, 8), 255, np.uint8)
    >>> half = np.concatenate([white[:, :, :3], black[:, :, 3:]], axis=2)
    >>> apart(layouts(black), layouts(np.concatenate([white, half])))
    array([[1., 0.]], dtype=float32)
    """
    if not len(a) or not len(b):
        return np.zeros((len(a), len(b)), np.float32)
    cells_a = torch.from_numpy(np.ascontiguousarray(a)).transpose(0, 1)  # (16, n, 12)
    cells_b = torch.from_numpy(np.ascontiguousarray(b)).transpose(0, 1)
    far = torch.cdist(cells_a, cells_b) / a.shape[2] ** 0.5  # (16, n, m)
    median: npt.NDArray[np.float32] = far.median(0).values.numpy()
    return median
