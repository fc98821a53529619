"""A random subset of memory and batch."""

from __future__ import annotations

import torch
from torch import Tensor

from scale.memory._policy import Candidates, Policy, register_policy


@register_policy("random")
class Random(Policy):
    """Keep a random subset of memory and batch; old samples become rare."""

    def __call__(self, candidates: Candidates, size: int, generator: torch.Generator) -> Tensor:
        return torch.randperm(len(candidates), generator=generator)[:size].sort().values
