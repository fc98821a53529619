"""What moves between two frames, and frames made from one still."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def blurred_grey(images: Tensor) -> Tensor:
    """Return the mean of the channels, blurred over 3 x 3 pixels, (n, h, w)."""
    grey = images.mean(1, keepdim=True)
    return F.avg_pool2d(grey, 3, stride=1, padding=1, count_include_pad=False)[:, 0]


def correlation(a: Tensor, b: Tensor) -> float:
    """Return the correlation of two frames' pixels; 1 for equal frames, 0 if one is constant.

    Examples
    --------
    >>> frame = torch.tensor([[0.0, 1.0], [0.5, 0.0]])
    >>> round(correlation(frame, 2 * frame + 1), 6), round(correlation(frame, -frame), 6)
    (1.0, -1.0)
    """
    if torch.equal(a, b):
        return 1.0
    a, b = a - a.mean(), b - b.mean()
    length = a.norm() * b.norm()
    return float((a * b).sum() / length) if float(length) > 0 else 0.0


def gradient_norm(grey: Tensor) -> Tensor:
    """Return the length of the brightness gradient at each pixel, (n, h, w)."""
    padded = F.pad(grey[:, None], (1, 1, 1, 1), mode="replicate")[:, 0]
    across = padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]
    down = padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]
    return (across.square() + down.square()).sqrt()


def slide(
    image: Tensor, frames: int, generator: torch.Generator
) -> list[tuple[Tensor, Tensor, Tensor]]:
    """Return frames in which a random patch of a still slides over it, one pixel per frame.

    Parameters
    ----------
    image
        (c, h, w).
    frames
        Number of frames.
    generator
        Source of the patch, its place and its direction.

    Returns
    -------
    list
        For each frame the image, the moving pixels (h, w), and the patch's centre (row, column).
    """
    _, height, width = image.shape
    high, wide = max(1, height // 2), max(1, width // 2)

    def draw(most: int) -> int:
        return int(torch.randint(most + 1, (), generator=generator))

    top, left = draw(height - high), draw(width - wide)
    patch = image[:, top : top + high, left : left + wide]
    row, column = draw(height - high), draw(width - wide)
    down, across = (2 * draw(1) - 1 for _ in range(2))
    made = []
    for t in range(frames):
        r = min(max(row + t * down, 0), height - high)
        c = min(max(column + t * across, 0), width - wide)
        frame, moving = image.clone(), torch.zeros(height, width, dtype=torch.bool)
        frame[:, r : r + high, c : c + wide] = patch
        moving[r : r + high, c : c + wide] = True
        made.append((frame, moving, torch.tensor([r + high // 2, c + wide // 2])))
    return made
