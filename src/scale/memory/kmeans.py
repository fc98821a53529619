"""Equally many samples of each cluster."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from scale.memory._balance import balanced
from scale.memory._policy import Candidates, Policy, PolicyKnowledge, register_policy


@register_policy("kmeans")
class KMeans(Policy):
    """Keep equal shares of k clusters of the features, each a random part of its cluster.

    The paper sets k to the true number of classes, which is prior knowledge. It keeps random
    members of a cluster, not those nearest to the centre.
    """

    knows = PolicyKnowledge(features=True, num_classes=True)

    def __call__(self, candidates: Candidates, size: int, generator: torch.Generator) -> Tensor:
        assert candidates.features is not None
        clusters = kmeans_clusters(candidates.features, candidates.clusters, generator)
        return balanced(clusters, size, generator)


def kmeans_clusters(features: Tensor, k: int, generator: torch.Generator) -> Tensor:
    """Return the cluster of each row of `features`, from one run of k-means with k-means++ seeds.

    Examples
    --------
    >>> rows = torch.tensor([[0.0], [0.1], [9.0], [9.1]])
    >>> a, b, c, d = kmeans_clusters(rows, 2, torch.Generator()).tolist()
    >>> a == b != c == d
    True
    """
    # Imported here, because scikit-learn is slow to import.
    from sklearn.cluster import KMeans as Lloyd
    from sklearn.exceptions import ConvergenceWarning
    from threadpoolctl import threadpool_limits

    seed = int(torch.randint(2**31, (), generator=generator))
    lloyd = Lloyd(min(k, len(features)), n_init=1, random_state=seed)
    # One thread: with several, the order of sums would change the last bits.
    with warnings.catch_warnings(), threadpool_limits(1, user_api="openmp"):
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than clusters
        return torch.from_numpy(lloyd.fit_predict(features.cpu().numpy())).long()
