"""Alignment of current projections with target projections."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from scale.losses._gate import check_tensors


def alignment_loss(aligned: Tensor, targets: Tensor) -> Tensor:
    """Return the negative cosine similarity of each row with its target, averaged over the rows.

    Parameters
    ----------
    aligned, targets
        (views, d) each; only directions count.

    Examples
    --------
    >>> import torch
    >>> alignment_loss(torch.tensor([[2.0, 0], [0, 1]]), torch.tensor([[1.0, 0], [1, 0]]))
    tensor(-0.5000)
    """
    check_tensors("views d", aligned=aligned, targets=targets)
    return -F.cosine_similarity(aligned, targets, dim=1).mean()
