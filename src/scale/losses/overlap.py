"""Overlap: images whose views spread into each other's place in feature space."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from scale.losses._gate import check_stacked, check_tensors

BELOW_1 = 1 - 1e-6  # the slope of acos is infinite at 1


def overlap_loss(h: Tensor) -> Tensor:
    """Return by how much the cones of images overlap, the mean over pairs.

    The cone of an image has the mean direction of its two views as its axis, and their angle from
    it as its radius. Two cones overlap by the sum of radii minus the angle of axes, or 0.

    Parameters
    ----------
    h
        Features, first views and then second views, (2n, d). A single image has loss 0.

    Examples
    --------
    >>> far = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.1, 1.0]])
    >>> overlap_loss(far).item() < 0.01
    True
    """
    check_tensors("views d", h=h)
    check_stacked("h", len(h), 0, memory=0)
    n = len(h) // 2
    if n < 2:
        return h.sum() * 0
    unit = F.normalize(h, dim=1)
    first, second = unit[:n], unit[n:]
    axis = F.normalize(first + second, dim=1)
    radius = ((first * axis).sum(1)).clamp(-BELOW_1, BELOW_1).acos()  # (n,)
    apart = (axis @ axis.T).clamp(-BELOW_1, BELOW_1).acos()  # (n, n)
    overlap = (radius[:, None] + radius[None] - apart).clamp(min=0)
    others = ~torch.eye(n, dtype=torch.bool, device=h.device)
    return overlap[others].mean()
