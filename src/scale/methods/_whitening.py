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
        Only this many directions, those in which the sample differs most; along directions in which
        it does not differ features are 0. They are turned to a frame that is always the same, so
        that a sample a little different gives features a little different. If the sample does not
        differ at all, the first so many features as they are. All when not given.
    """
    rows = sample.cpu().double()
    mean = rows.mean(0)
    rows = rows - mean
    added = ridge * rows.square().mean() + torch.finfo(torch.float32).tiny
    matrix = _principal(rows, added, keep) if keep is not None else _triangular(rows, added)
    return Whitening(mean.to(sample.device, torch.float32), matrix.to(sample.device, torch.float32))


def _triangular(rows: Tensor, added: Tensor) -> Tensor:
    """Return a whitening matrix, (d, d); all give the same distances, and this one is cheap."""
    covariance = rows.T @ rows / len(rows)
    covariance.diagonal().add_(added)
    factor = torch.linalg.cholesky(covariance)
    identity = torch.eye(len(factor), dtype=factor.dtype)
    matrix: Tensor = torch.linalg.solve_triangular(factor, identity, upper=False).T
    return matrix


def _principal(rows: Tensor, added: Tensor, keep: int) -> Tensor:
    """Return the whitening matrix of the `keep` directions of greatest variance, (d, keep)."""
    n, d = rows.shape
    # Both products have the same variances; the smaller one is cheaper to take apart.
    products = rows.T @ rows if d <= n else rows @ rows.T
    variances, vectors = torch.linalg.eigh(products / n)  # from the least to the greatest
    variances, vectors = variances[-keep:].flip(0), vectors[:, -keep:].flip(1)
    # Which directions a small sample does not have at all is a matter of rounding.
    there = variances > ROUNDING * variances[0]
    if not there.any():  # all rows are equal and tell of no direction
        return torch.eye(d, keep, dtype=rows.dtype)
    variances, vectors = variances[there], vectors[:, there]
    axes = vectors if d <= n else rows.T @ vectors / (n * variances).sqrt()  # (d, r)
    scales = (variances + added).rsqrt()
    matrix: Tensor = (axes * scales) @ _turn(axes * (variances * scales), keep)
    return matrix


def _turn(covariances: Tensor, keep: int) -> Tensor:
    """Return the rotation, (r, keep), that brings whitened features nearest to a fixed frame.

    Principal axes have no sign and change places when their variances cross. Turned to what a fixed
    random projection of the features would be (orthogonal Procrustes), whitened features of two
    moments can be compared. Distances are the same.

    Parameters
    ----------
    covariances
        Of features and whitened features, (d, r) with r <= keep.
    """
    generator = torch.Generator().manual_seed(0)
    shape = (len(covariances), keep)
    frame = torch.randn(shape, generator=generator, dtype=covariances.dtype)
    left, _, right = torch.linalg.svd(covariances.T @ frame, full_matrices=False)
    turn: Tensor = left @ right
    return turn
