"""A uniform sample of the whole past."""

from __future__ import annotations

import torch
from torch import Tensor

from scale.memory._policy import Candidates, Policy, register_policy


@register_policy("reservoir")
class Reservoir(Policy):
    """Keep every image of the stream with the same probability (Vitter's algorithm R)."""

    def __call__(self, candidates: Candidates, size: int, generator: torch.Generator) -> Tensor:
        kept = torch.arange(size)
        late = torch.arange(size, len(candidates))  # images after the reservoir was full
        # The t-th image of the stream (from 1) takes slot `floor(u t)` if it exists.
        t = candidates.arrivals[late] + 1
        u = torch.rand(len(late), generator=generator, dtype=torch.float64)
        slot = (u * t).long()
        hit = slot < size
        # If two images of this batch draw the same slot, the later one takes it.
        kept.scatter_reduce_(0, slot[hit], late[hit], "amax")
        return kept
