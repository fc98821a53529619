"""Randomness of a learner, from one seed."""

from __future__ import annotations

import numpy as np
import torch


def generators(seed: int, count: int) -> list[torch.Generator]:
    """Return independent generators, one for each random part of a learner."""
    states = np.random.SeedSequence(seed).generate_state(count, np.uint64)
    return [torch.Generator().manual_seed(int(state >> np.uint64(1))) for state in states]
