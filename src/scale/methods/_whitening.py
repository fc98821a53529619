"""Linear maps after which a sample of features is spread alike in all directions."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

ROUNDING = 1e-12  # a variance of this share of the greatest one is none


class Whitening(NamedTuple):
    """What is taken from features, (d,), and by what they are multiplied, (d, k)."""

    mean: Tensor
    matrix: Tensor

    def __call__(self, features: Tensor) -> Tensor:
        """Return whitened features, (n, k)."""
        return (features - self.mean) @ self.matrix


def whitening(sample: Tensor, ridge: float, keep: int | None = None) -> Whitening:
    """Return what whitens features as a sample of them is whitened.

    Parameters
    ----------
    sample
        (n, d).
    ridge
        Added to the covariance, relative to its mean variance: directions in which the sample
        hardly differs are not blown up to noise.
    keep
        Only this many directions, those in which the sample differs most; features along directions
        in which it does not differ are 0. All when not given.
    """
    rows = sample.cpu().double()
    mean = rows.mean(0)
    rows = rows - mean
    covariance = rows.T @ rows / len(rows)
    added = ridge * covariance.diagonal().mean() + torch.finfo(torch.float32).tiny
    if keep is None:
        covariance.diagonal().add_(added)
        # All whitening matrices give the same distances; the Cholesky factor's is cheap.
        factor = torch.linalg.cholesky(covariance)
        identity = torch.eye(len(factor), dtype=factor.dtype)
        matrix: Tensor = torch.linalg.solve_triangular(factor, identity, upper=False).T
    else:
        variances, axes = torch.linalg.eigh(covariance)  # from the least to the greatest
        variances, axes = variances[-keep:], axes[:, -keep:]
        # Which directions a small sample does not have at all is a matter of rounding.
        there = variances > ROUNDING * variances[-1]
        matrix = axes * torch.where(there, (variances.clamp(min=0) + added).rsqrt(), 0)
    return Whitening(mean.to(sample.device, torch.float32), matrix.to(sample.device, torch.float32))
