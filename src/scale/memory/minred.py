"""Minimum redundancy (MinRed): drop the sample most similar to another."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scale.memory._policy import Candidates, Policy, PolicyKnowledge, register_policy


@register_policy("minred")
class MinRed(Policy):
    """When full, drop the sample most similar to another, by cosine, one at a time.

    References
    ----------
    Purushwalkam, Morgado and Gupta (2022), The Challenges of Continuous Self-Supervised Learning,
    ECCV.
    """

    knows = PolicyKnowledge(features=True)

    def __call__(self, candidates: Candidates, size: int, generator: torch.Generator) -> Tensor:
        assert candidates.features is not None
        return torch.from_numpy(minred_select(candidates.features, size))


def minred_select(features: Tensor, size: int) -> np.ndarray:
    """Return the sorted indices of the `size` least redundant rows of `features`.

    It drops i* = argmin_i min_{j != i} d_cos(i, j), one at a time. Two samples, each other's
    neighbours, attain this minimum; the earlier one goes, as in the authors' code. So the newer
    image of a scene replaces the older. A row of zeros is at distance 1 from all others.

    Examples
    --------
    >>> minred_select(torch.tensor([[1.0, 0], [0, 1], [2, 0.1], [-1, 0], [0, 3]]), 3)
    array([2, 3, 4])
    """
    kept = np.ones(len(features), dtype=bool)
    if size == 0:
        return np.flatnonzero(~kept)
    # The earlier of a pair goes, so each row needs only its nearest among the later ones.
    similarity = _cosine_to_later(features)  # (n, n)
    nearest = similarity.argmax(axis=1)
    closeness = similarity.max(axis=1)
    for _ in range(len(features) - size):  # sequential: each removal affects the next
        # Neighbours only leave, so the closeness of a row whose neighbour left is an upper bound.
        # It needs an update only if the bound reaches the closest row that is up to date.
        stale = ~kept[nearest]
        certain = closeness.max(where=~stale, initial=-np.inf)
        again = np.flatnonzero(stale & (closeness >= certain))
        nearest[again] = similarity[again].argmax(axis=1)
        closeness[again] = similarity[again, nearest[again]]
        gone = closeness.argmax()  # the first of equals
        kept[gone] = False
        closeness[gone] = similarity[gone] = similarity[:, gone] = -np.inf
    return np.flatnonzero(kept)


def _cosine_to_later(features: Tensor) -> np.ndarray:
    """Return the cosines of each row with the later ones, (n, n) float32, and -inf elsewhere."""
    exact = features.detach().cpu().double()
    norm = exact.norm(dim=1, keepdim=True)
    unit = exact / norm.where(norm > 0, 1.0)
    # Double precision, rounded to single, gives equal distances equal values. Otherwise rounding
    # would choose between two pairs of copies.
    cosines: np.ndarray = (unit @ unit.T).float().numpy()
    cosines[np.tri(len(cosines), dtype=bool)] = -np.inf
    return cosines
