"""Similarities of views and of images; all losses share one matrix of dot products."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor

from scale._machine import check_memory
from scale._numbers import check_number
from scale.losses._gate import MOST, check_device, check_stacked, check_tensors


def dot_products(z: Tensor) -> Tensor:
    """Return pairwise dot products; -inf on the diagonal excludes each view from its softmax."""
    check_tensors("views dim", z=z)
    dots = z @ z.T  # (2(m+n), 2(m+n))
    return dots.masked_fill(torch.eye(len(z), dtype=torch.bool, device=z.device), -torch.inf)


def symmetric_sne(dots: Tensor, kappa: float) -> Tensor:
    """Return the symmetric SNE similarity p_ij = (p(j|i) + p(i|j)) / 2 of views.

    Parameters
    ----------
    dots
        Dot products with -inf on the diagonal, (2(m+n), 2(m+n)).
    kappa
        Temperature of p(j|i), the softmax over k != i of z_i.z_k / kappa.

    Returns
    -------
    Tensor
        Similarities with a zero diagonal; they sum to the number of views.
    """
    check_tensors("views views", dots=dots)
    check_number("kappa", kappa, above=0)
    conditional = torch.softmax(dots / kappa, dim=1)
    return (conditional + conditional.T) / 2


def image_similarity(h: Tensor, n: int, kappa: float) -> Tensor:
    """Return the SNE similarity of images by unnormalised features, like the released code.

    It is the softmax over other images of 2 h_i.h_k / kappa, made symmetric, averaged over the four
    pairs of views. Long features make it nearly one-hot.

    Parameters
    ----------
    h
        Features of views, stacked as two views of n stream images, then two of m replayed ones,
        (2(m+n), d).
    n
        Images in the stream batch.
    kappa
        Temperature.

    Returns
    -------
    Tensor
        (n+m, n+m) with a zero diagonal, images of the stream first.
    """
    check_tensors("views d", h=h)
    check_stacked("h", len(h), n, memory=0)
    check_number("kappa", kappa, above=0)
    m = len(h) // 2 - n
    first = torch.cat([h[:n], h[2 * n : 2 * n + m]])
    second = torch.cat([h[n : 2 * n], h[2 * n + m :]])
    p = h.new_zeros(n + m, n + m)
    for u, v in itertools.product((first, second), repeat=2):
        logits = (2 / kappa * u @ v.T).fill_diagonal_(-torch.inf)
        p += (torch.softmax(logits, 1) + torch.softmax(logits, 0)) / 8
    return p.fill_diagonal_(0)  # with a single image it is NaN


def twins(n: int, device: torch.device | None = None) -> Tensor:
    """Return the index of the twin of each of 2n views, stacked as (first views, second views).

    Examples
    --------
    >>> twins(3).tolist()
    [3, 4, 5, 0, 1, 2]
    """
    check_number("n", n, least=0, most=MOST, whole=True)
    check_memory(16 * n, f"the index of {2 * n} twins", "lower n")
    check_device(device)
    return torch.arange(2 * n, device=device).roll(n)
