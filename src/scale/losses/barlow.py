"""Barlow Twins: the cross-correlation of two views is the identity."""

from __future__ import annotations

from torch import Tensor

from scale._numbers import check_number
from scale.losses._gate import check_tensors

LEAST = 1e-5  # standard deviation of a dimension that does not vary


def barlow_loss(first: Tensor, second: Tensor, lam: float) -> Tensor:
    """Return the sum of (1 - C_ii)^2 plus lam times the sum of C_ij^2, i != j.

    C is the correlation of dimension i of first views with dimension j of second views, over the
    images.

    Parameters
    ----------
    first, second
        Projections, (n, d) each. A single image has no correlation: its loss is 0.
    lam
        Weight of the correlations of different dimensions.

    References
    ----------
    Zbontar, Jing, Misra, LeCun and Deny (2021), Barlow Twins: Self-Supervised Learning via
    Redundancy Reduction, ICML.

    Examples
    --------
    >>> import torch
    >>> z = torch.tensor([[1.0, 1.0], [-1.0, -1.0]])  # both dimensions say the same
    >>> barlow_loss(z, z, lam=0.5).item()
    1.0
    """
    check_tensors("n d", first=first, second=second)
    check_number("lam", lam, least=0)
    if len(first) < 2:
        return (first.sum() + second.sum()) * 0
    a, b = (_standardised(z) for z in (first, second))
    c = a.T @ b / len(a)  # (d, d)
    own = c.diagonal()
    others = c.square().sum() - own.square().sum()
    return (1 - own).square().sum() + lam * others


def _standardised(z: Tensor) -> Tensor:
    """Return each dimension with mean 0 and standard deviation 1, (n, d)."""
    centred = z - z.mean(dim=0)
    return centred / centred.square().mean(dim=0).sqrt().clamp(min=LEAST)
