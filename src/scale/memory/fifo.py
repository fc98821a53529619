"""The most recent samples."""

from __future__ import annotations

import torch
from torch import Tensor

from scale.memory._policy import Candidates, Policy, register_policy


@register_policy("fifo")
class FIFO(Policy):
    """Keep the most recent samples."""

    def __call__(self, candidates: Candidates, size: int, generator: torch.Generator) -> Tensor:
        return torch.arange(len(candidates) - size, len(candidates))
