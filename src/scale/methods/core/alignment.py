"""What CLA and CLIMB share: the aligner, the slow teacher, projections of whole images."""

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

    It stays in training mode, as in the authors' code: its BatchNorm uses the statistics of the
    views it is given, and its running statistics are neither averaged nor used.
    """
    return deepcopy(nn.Sequential(encoder, projector)).requires_grad_(False)


@torch.no_grad()
def follow(teacher: nn.Module, encoder: nn.Module, projector: nn.Module, ema: float) -> None:
    """Make every parameter of the teacher ``ema`` of itself and ``1 - ema`` of the learner's."""
    present = nn.Sequential(encoder, projector)
    for slow, now in zip(teacher.parameters(), present.parameters(), strict=True):
        slow.lerp_(now, 1 - ema)


def mean_of_twins(z: Tensor) -> Tensor:
    """Return one row per image from (2n, d) rows of first views, then second views.

    Examples
    --------
    >>> mean_of_twins(torch.tensor([[0.0], [4.0], [2.0], [6.0]])).tolist()
    [[1.0], [5.0]]
    """
    n = len(z) // 2
    return (z[:n] + z[n:]) / 2  # (n, d)
