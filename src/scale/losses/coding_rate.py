"""The total coding rate: how much of the space a set of rows fills."""

from __future__ import annotations

import torch
from torch import Tensor

from scale._numbers import check_number
from scale.losses._gate import check_tensors


def total_coding_rate(z: Tensor, eps: float) -> Tensor:
    """Return 1/2 log det(I + d / (n eps) Z^T Z) of rows z, (n, d).

    It is greatest if rows spread over all directions, and least if they are one point. Maximise it
    against collapse.

    Parameters
    ----------
    z
        Unit length, (n, d).
    eps
        Squared precision at which rows are coded.

    Examples
    --------
    >>> apart, together = torch.eye(2), torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    >>> bool(total_coding_rate(apart, 0.2) > total_coding_rate(together, 0.2))
    True
    """
    check_tensors("n d", z=z)
    check_number("eps", eps, above=0)
    n, d = z.shape
    gram = z @ z.T if n < d else z.T @ z  # both have the same determinant; the smaller is cheaper
    identity = torch.eye(len(gram), dtype=z.dtype, device=z.device)
    return torch.logdet(identity + d / (n * eps) * gram) / 2
