"""Equal shares of a memory for groups of candidates."""

from __future__ import annotations

import torch
from torch import Tensor


def balanced(groups: Tensor, size: int, generator: torch.Generator) -> Tensor:
    """Return the sorted indices of `size` candidates, balanced over the groups.

    Each round takes one random member of every group that has one left. Unused shares go to other
    groups; the rest differ by at most one.

    Parameters
    ----------
    groups
        Group of each candidate, (candidates,) integers.
    size
        Number of candidates to choose; all if there are fewer.

    Examples
    --------
    >>> groups = torch.tensor([7, 7, 7, 7, 7, 2, 5, 5])
    >>> groups[balanced(groups, 5, torch.Generator())]
    tensor([7, 7, 2, 5, 5])
    """
    _, group, count = torch.unique(groups, return_inverse=True, return_counts=True)
    shuffled = torch.randperm(len(groups), generator=generator)
    by_group = shuffled[
        group[shuffled].argsort(stable=True)
    ]  # each group's members in random order
    first = count.cumsum(0) - count  # where each group begins
    rounds = torch.arange(len(groups)) - first.repeat_interleave(count)
    # The order of groups is random too: the last round may not reach all of them.
    turn = torch.randperm(len(count), generator=generator)[group[by_group]]
    order = (rounds * len(count) + turn).argsort()
    return by_group[order[:size]].sort().values
