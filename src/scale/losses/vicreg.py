"""VICReg: variance, invariance and covariance of projections."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from scale.losses._gate import check_tensors

EPS = 1e-4  # added to variances, as the authors do


class VICReg(NamedTuple):
    """The three terms of VICReg."""

    invariance: Tensor
    """Mean squared difference of twins."""
    variance: Tensor
    """By how much standard deviations are below 1: mean over dimensions, and over both sets."""
    covariance: Tensor
    """Sum of squared covariances of different dimensions, divided by d, of both sets."""


def vicreg_terms(first: Tensor, second: Tensor) -> VICReg:
    """Return the terms of VICReg for two views of each image.

    Parameters
    ----------
    first, second
        Projections that are not scaled to unit length, (n, d) each. A single image has no variance,
        so only its invariance counts.

    References
    ----------
    Bardes, Ponce and LeCun (2022), VICReg: Variance-Invariance-Covariance Regularization for
    Self-Supervised Learning, ICLR.

    Examples
    --------
    >>> z = torch.tensor([[2.0], [-2.0]])
    >>> [term.item() for term in vicreg_terms(z, z)]
    [0.0, 0.0, 0.0]
    """
    check_tensors("n d", first=first, second=second)
    invariance = (first - second).square().mean()
    n, d = first.shape
    if n < 2:
        none = invariance * 0
        return VICReg(invariance, none, none)
    variances, covariances = [], []
    for z in (first, second):
        spread = (z.var(dim=0) + EPS).sqrt()  # (d,)
        variances.append((1 - spread).clamp(min=0).mean())
        centred = z - z.mean(dim=0)
        cov = centred.T @ centred / (n - 1)  # (d, d)
        covariances.append((cov.square().sum() - cov.diagonal().square().sum()) / d)
    return VICReg(invariance, torch.stack(variances).mean(), torch.stack(covariances).sum())
