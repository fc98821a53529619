"""Minimum variance (CCSL): in each cluster, the images whose features vary least between views."""

from __future__ import annotations

import torch
from torch import Tensor

from scale.memory._balance import rank_in_group
from scale.memory._policy import Candidates, Policy, PolicyKnowledge
from scale.memory.kmeans import kmeans_clusters

DEVIATION = "deviation"  # column of the memory
EACH = 20  # images of a cluster


class MinVar(Policy):
    """Keep the `EACH` least varying images of each of size / `EACH` clusters of the features.

    Places that a small cluster leaves go to the least varying images of others. It needs the column
    `DEVIATION`, so a method sets it as the policy of its own memory.
    """

    knows = PolicyKnowledge(features=True)

    def __call__(self, candidates: Candidates, size: int, generator: torch.Generator) -> Tensor:
        assert candidates.features is not None
        clusters = kmeans_clusters(candidates.features, max(1, size // EACH), generator)
        return least_of_each(candidates.columns[DEVIATION], clusters, size)


def least_of_each(value: Tensor, group: Tensor, size: int) -> Tensor:
    """Return the sorted indices of `size` rows: the least of all groups, then the second least.

    Examples
    --------
    >>> value, group = torch.tensor([5.0, 1, 2, 9]), torch.tensor([0, 0, 0, 1])
    >>> least_of_each(value, group, 3).tolist()
    [1, 2, 3]
    """
    by_value = value.argsort(stable=True)
    rank = rank_in_group(group, -value)[by_value]
    return by_value[rank.argsort(stable=True)][:size].sort().values
