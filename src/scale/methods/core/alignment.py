"""Tools that CLA and CLIMB share: the aligner, the slow teacher, the mean of two views."""

from __future__ import annotations

from copy import deepcopy

import torch
from torch import Tensor, nn

ALIGNER_WIDTH = 512


def make_aligner(dim: int) -> nn.Module:
    """Return linear - BatchNorm - ReLU - linear, from projections to aligned projections."""
    return nn.Sequential(
        nn.Linear(dim, ALIGNER_WIDTH, bias=False),
        nn.BatchNorm1d(ALIGNER_WIDTH),
        nn.ReLU(),
        nn.Linear(ALIGNER_WIDTH, dim),
    )


def make_teacher(encoder: nn.Module, projector: nn.Module) -> nn.Module:
    """Return a copy of encoder and projector that `follow` moves slowly.

    It stays in training mode, as in the authors' code. Its BatchNorm uses the statistics of its
    input; its running statistics are not used.
    """
    return deepcopy(nn.Sequential(encoder, projector)).requires_grad_(False)


@torch.no_grad()
def follow(teacher: nn.Module, encoder: nn.Module, projector: nn.Module, ema: float) -> None:
    """Set the teacher's parameters to ``ema`` times themselves plus ``1 - ema`` the learner's."""
    present = nn.Sequential(encoder, projector)
    for slow, now in zip(teacher.parameters(), present.parameters(), strict=True):
        slow.lerp_(now, 1 - ema)


def mean_of_twins(z: Tensor) -> Tensor:
    """Return the mean of the two views of each image, (n, d), from first views, then second views.

    Examples
    --------
    >>> mean_of_twins(torch.tensor([[0.0], [4.0], [2.0], [6.0]])).tolist()
    [[1.0], [5.0]]
    """
    n = len(z) // 2
    return (z[:n] + z[n:]) / 2  # (n, d)
