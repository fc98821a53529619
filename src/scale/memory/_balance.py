"""Equal shares of a memory for groups of candidates, and ranks inside of groups."""

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


def rank_in_group(group: Tensor, value: Tensor) -> Tensor:
    """Return the rank of each value within its group; the greatest has rank 0.

    Examples
    --------
    >>> rank_in_group(torch.tensor([0, 1, 0, 0, 1]), torch.tensor([3, 1, 9, 5, 2])).tolist()
    [2, 1, 0, 1, 0]
    """
    order = torch.argsort(value, descending=True, stable=True)
    order = order[torch.argsort(group[order], stable=True)]  # group after group
    size = torch.bincount(group)
    begin = size.cumsum(0) - size
    rank = torch.empty_like(group)
    rank[order] = torch.arange(len(group)) - begin[group[order]]
    return rank
