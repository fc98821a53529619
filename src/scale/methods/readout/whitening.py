"""Whitening and discriminant analysis of features, fitted to a sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

ROUNDING = 1e-12  # added to the views' covariance, as a fraction of its trace
LEAST = 1e-6  # eigenvalues below this count as zero


class Whitening(NamedTuple):
    """A mean to subtract, (d,), and a matrix to multiply by, (d, k)."""

    mean: Tensor
    matrix: Tensor

    def __call__(self, features: Tensor) -> Tensor:
        """Return the mapped features, (n, k)."""
        return (features - self.mean) @ self.matrix


def whitening(sample: Tensor, ridge: float) -> Whitening:
    """Return the whitening of a sample of features.

    Parameters
    ----------
    sample
        (n, d).
    ridge
        Added to the covariance, as a fraction of the mean variance. It keeps whitening from
        amplifying noise in directions of little variance.
    """
    mean, rows, added = _centred(sample, ridge)
    identity = torch.eye(rows.shape[1], dtype=rows.dtype)
    # All whitening matrices give the same distances; this one is cheap.
    matrix = torch.linalg.solve_triangular(_factor(_moments(rows), added), identity, upper=False).T
    return _like(sample, mean, matrix)


def contrast_whitening(
    sample: Tensor, views: Sequence[Tensor], ridge: float, keep: int
) -> Whitening:
    """Return linear discriminant analysis of features, with every image as its own class.

    Along each direction, `lam` is the variance of images divided by the variance of views around
    their image. Features are whitened and multiplied by ``(lam / (lam + 1))**2``, which suppresses
    unreliable directions. A common factor makes the largest scale 1.

    Parameters
    ----------
    sample
        Features of images, (n, d).
    views
        Features of views of the same images, each (n, d). Without views, only the ridge suppresses
        directions of little variance.
    ridge
        Added to the covariance of views, as a fraction of the mean variance of the sample.
    keep
        Number of directions kept, those of greatest `lam`; directions without variance give 0.
        The result is rotated to a fixed frame (Procrustes), so small changes of the sample stay
        small. If all rows are equal, return the first `keep` features unchanged.
    """
    mean, rows, added = _centred(sample, ridge)
    around = [view.cpu().double() - mean - rows for view in views] or [rows[:0]]
    moments = _moments(torch.cat(around))
    # The ridge may be lost to rounding, and the moments may not have full rank.
    factor = _factor(moments, added + ROUNDING * moments.diagonal().sum())
    # In these coordinates views have variance 1 in every direction.
    rows = torch.linalg.solve_triangular(factor, rows.T, upper=False).T
    lam, axes = _principal(rows, keep)
    if len(lam) == 0:  # all rows are equal
        return _like(sample, mean, torch.eye(len(mean), keep, dtype=rows.dtype))
    scales = lam.rsqrt() * (lam / (lam + 1)).square()
    scales = scales / scales.max()
    rotation = fixed_frame(factor @ (axes * (lam * scales)), keep)
    matrix = torch.linalg.solve_triangular(factor.T, axes * scales, upper=True) @ rotation
    return _like(sample, mean, matrix)


def _centred(sample: Tensor, ridge: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return the mean, the centred rows, and `ridge` times their mean variance."""
    rows = sample.cpu().double()
    mean = rows.mean(0)
    rows = rows - mean
    return mean, rows, ridge * rows.square().mean() + torch.finfo(torch.float32).tiny


def _moments(rows: Tensor) -> Tensor:
    return rows.T @ rows / max(1, len(rows))  # (d, d)


def _factor(moments: Tensor, added: Tensor) -> Tensor:
    """Return the Cholesky factor of the moments plus `added` on the diagonal, (d, d)."""
    moments.diagonal().add_(added)
    factor: Tensor = torch.linalg.cholesky(moments)
    return factor


def _principal(rows: Tensor, keep: int) -> tuple[Tensor, Tensor]:
    """Return at most `keep` greatest variances of rows, and their directions."""
    n, d = rows.shape
    # Both products have the same eigenvalues; the smaller one is cheaper.
    products = rows.T @ rows if d <= n else rows @ rows.T
    # From the least to the greatest; float32 rounds below what directions in use have.
    variances, vectors = (part.double() for part in torch.linalg.eigh((products / n).float()))
    variances, vectors = variances[-keep:].flip(0), vectors[:, -keep:].flip(1)
    there = variances > LEAST
    variances, vectors = variances[there], vectors[:, there]
    return variances, vectors if d <= n else rows.T @ vectors / (n * variances).sqrt()


def _like(sample: Tensor, mean: Tensor, matrix: Tensor) -> Whitening:
    return Whitening(*(part.to(sample.device, torch.float32) for part in (mean, matrix)))


def fixed_frame(covariances: Tensor, keep: int) -> Tensor:
    """Return the rotation, (r, keep), of whitened features to a fixed random frame.

    Principal axes have no sign, and they swap when their variances cross. This rotation towards a
    fixed random projection of the features (orthogonal Procrustes) makes embeddings of two
    moments comparable. It keeps distances.

    Parameters
    ----------
    covariances
        Covariances of features and whitened features, (d, r) with r <= keep.
    """
    generator = torch.Generator().manual_seed(0)
    shape = (len(covariances), keep)
    frame = torch.randn(shape, generator=generator, dtype=covariances.dtype)
    left, _, right = torch.linalg.svd(covariances.T @ frame, full_matrices=False)
    rotation: Tensor = left @ right
    return rotation
