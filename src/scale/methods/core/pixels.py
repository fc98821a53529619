"""Normalisation of pixels before an encoder."""

from __future__ import annotations

import torch
from torch import Tensor

from scale.models import Weights

PIXEL_MEAN, PIXEL_STD = 0.5, 0.25  # fixed: the statistics of a stream are not known in advance


def normalisation(weights: Weights | None, channels: int, device: str) -> tuple[Tensor, Tensor]:
    """Return the mean and the standard deviation of an encoder's pixels, (1, c, 1, 1) each.

    Examples
    --------
    >>> mean, std = normalisation(None, 3, "cpu")
    >>> mean.shape, std.flatten().tolist()
    (torch.Size([1, 3, 1, 1]), [0.25, 0.25, 0.25])
    """
    if weights is not None:
        mean, std = (torch.tensor(one, device=device) for one in (weights.mean, weights.std))
        return mean.view(1, -1, 1, 1), std.view(1, -1, 1, 1)
    shape = (1, channels, 1, 1)
    return torch.full(shape, PIXEL_MEAN, device=device), torch.full(shape, PIXEL_STD, device=device)
