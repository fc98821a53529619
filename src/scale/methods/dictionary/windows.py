"""Square patches of images."""

from __future__ import annotations

from torch import Tensor


def windows(images: Tensor, side: int, stride: int = 1) -> Tensor:
    """Return every patch of each image, as a view: (n, rows, columns, c, side, side).

    Examples
    --------
    >>> import torch
    >>> patches = windows(torch.arange(9.0).view(1, 1, 3, 3), side=2)
    >>> patches.shape, patches[0, 1, 0].flatten().tolist()
    (torch.Size([1, 2, 2, 1, 2, 2]), [3.0, 4.0, 6.0, 7.0])
    """
    slid = images.unfold(2, side, stride).unfold(3, side, stride)  # (n, c, rows, columns, ...)
    return slid.permute(0, 2, 3, 1, 4, 5)
