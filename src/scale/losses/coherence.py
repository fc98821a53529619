"""Coherence of pixel features in space and time."""

from __future__ import annotations

import torch
from torch import Tensor

TINY = 1e-8


def spatial_coherence(inside: Tensor, *, unit: bool) -> Tensor:
    """Return the mean squared distance of pairs of rows; for unit rows, 1 - their mean cosine.

    Parameters
    ----------
    inside
        Features of pixels that move together, (n, d). A single row has loss 0.
    unit
        Whether rows have unit length.
    """
    n = len(inside)
    if n < 2:
        return inside.sum() * 0
    pairs = n * (n - 1)
    total = inside.sum(0)
    dots = total.square().sum() - inside.square().sum()  # over ordered pairs
    if unit:
        return 1 - dots / pairs
    return (2 * (n - 1) * inside.square().sum() - 2 * dots) / pairs


def spatial_contrast(inside: Tensor, outside: Tensor, *, unit: bool) -> Tensor:
    """Return 1 / mean squared distance between two sets; for unit rows, 1 + their mean cosine."""
    if unit:
        return 1 + inside.mean(0) @ outside.mean(0)
    return 1 / (torch.cdist(inside, outside).square().mean() + TINY)


def temporal_coherence(now: Tensor, before: Tensor, *, unit: bool) -> Tensor:
    """Return the squared distance of two features; for unit length, 1 - their cosine."""
    return 1 - now @ before if unit else (now - before).square().sum()
