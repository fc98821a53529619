"""One matrix of dot products serves every loss."""

from __future__ import annotations

import torch
from torch import Tensor


def dot_products(z: Tensor) -> Tensor:
    """Pairwise dot products with -inf on the diagonal, so that no view is compared with itself."""
    dots = z @ z.T  # (2(m+n), 2(m+n))
    return dots.masked_fill(torch.eye(len(z), dtype=torch.bool, device=z.device), -torch.inf)


def symmetric_sne(dots: Tensor, kappa: float) -> Tensor:
    """Symmetric SNE similarity p_ij = (p(j|i) + p(i|j)) / 2 of views.

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
    conditional = torch.softmax(dots / kappa, dim=1)
    return (conditional + conditional.T) / 2


def twins(n: int, device: torch.device | None = None) -> Tensor:
    """Index of the other view of each of 2n views stacked as (first views, second views).

    Examples
    --------
    >>> twins(3).tolist()
    [3, 4, 5, 0, 1, 2]
    """
    return torch.arange(2 * n, device=device).roll(n)
