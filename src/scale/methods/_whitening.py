"""Linear maps of features, after which what differs little counts as much as what differs most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

ROUNDING = 1e-12  # as a share of all variance: none
LEAST = 1e-6  # where images differ by less than this share of what views differ by, they are alike


class Whitening(NamedTuple):
    """What is taken from features, (d,), and by what they are multiplied, (d, k)."""

    mean: Tensor
    matrix: Tensor

    def __call__(self, features: Tensor) -> Tensor:
        """Return whitened features, (n, k)."""
        return (features - self.mean) @ self.matrix


def whitening(sample: Tensor, ridge: float) -> Whitening:
    """Return what whitens features as a sample of them is whitened.

    Parameters
    ----------
    sample
        (n, d).
    ridge
        Added to the covariance, relative to its mean variance: directions in which the sample
        hardly differs are not blown up to noise.
    """
    mean, rows, added = _centred(sample, ridge)
    identity = torch.eye(rows.shape[1], dtype=rows.dtype)
    # All whitening matrices give the same distances, and this one is cheap.
    matrix = torch.linalg.solve_triangular(_factor(_moments(rows), added), identity, upper=False).T
    return _like(sample, mean, matrix)


def contrast_whitening(
    sample: Tensor, views: Sequence[Tensor], ridge: float, keep: int
) -> Whitening:
    """Return what shows how images differ, and little of how views of one image differ.

    Directions are those of linear discriminant analysis with every image a class of its own. In
    each, `lam` is the variance of images over that of views around their image. Features are
    whitened and multiplied by ``(lam / (lam + 1))**2``, which leaves out what is not to be relied
    upon, and by one factor for all.

    Parameters
    ----------
    sample
        Features of images, (n, d).
    views
        Features of views of the same images, each (n, d). If there are none, features are whitened
        and those of little variance left out.
    ridge
        Variance in all directions that is counted to the views, relative to the mean variance of
        the sample.
    keep
        Only this many directions, those of greatest `lam`; along directions in which the sample
        does not differ features are 0. They are turned to a frame that is always the same, so that
        a sample a little different gives features a little different. If the sample does not
        differ at all, the first so many features as they are.
    """
    mean, rows, added = _centred(sample, ridge)
    around = [view.cpu().double() - mean - rows for view in views] or [rows[:0]]
    moments = _moments(torch.cat(around))
    # What is added may be nothing beside the moments, and these may not be of full rank.
    factor = _factor(moments, added + ROUNDING * moments.diagonal().sum())
    # In these coordinates views vary by 1 in every direction.
    rows = torch.linalg.solve_triangular(factor, rows.T, upper=False).T
    lam, axes = _principal(rows, keep)
    if len(lam) == 0:  # all rows are equal and tell of no direction
        return _like(sample, mean, torch.eye(len(mean), keep, dtype=rows.dtype))
    scales = lam.rsqrt() * (lam / (lam + 1)).square()
    scales = scales / scales.max()
    turn = _turn(factor @ (axes * (lam * scales)), keep)
    matrix = torch.linalg.solve_triangular(factor.T, axes * scales, upper=True) @ turn
    return _like(sample, mean, matrix)


def _centred(sample: Tensor, ridge: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return the mean, what rows are beside it, and `ridge` of their mean variance."""
    rows = sample.cpu().double()
    mean = rows.mean(0)
    rows = rows - mean
    return mean, rows, ridge * rows.square().mean() + torch.finfo(torch.float32).tiny


def _moments(rows: Tensor) -> Tensor:
    return rows.T @ rows / max(1, len(rows))  # (d, d)


def _factor(moments: Tensor, added: Tensor) -> Tensor:
    """Return the Cholesky factor of moments with something added to all variances, (d, d)."""
    moments.diagonal().add_(added)
    factor: Tensor = torch.linalg.cholesky(moments)
    return factor


def _principal(rows: Tensor, keep: int) -> tuple[Tensor, Tensor]:
    """Return the greatest variances of rows, `keep` of them or fewer, and their directions."""
    n, d = rows.shape
    # Both products have the same variances; the smaller one is cheaper to take apart.
    products = rows.T @ rows if d <= n else rows @ rows.T
    variances, vectors = torch.linalg.eigh(products / n)  # from the least to the greatest
    variances, vectors = variances[-keep:].flip(0), vectors[:, -keep:].flip(1)
    there = variances > LEAST
    variances, vectors = variances[there], vectors[:, there]
    return variances, vectors if d <= n else rows.T @ vectors / (n * variances).sqrt()


def _like(sample: Tensor, mean: Tensor, matrix: Tensor) -> Whitening:
    return Whitening(*(part.to(sample.device, torch.float32) for part in (mean, matrix)))


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
