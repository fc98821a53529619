"""Minimum redundancy (MinRed): drop the sample most similar to another."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scale.memory._policy import Candidates, Policy, PolicyKnowledge, register_policy

ELEMENTS = 2**23  # cosines held at once: all of a memory of 100,000 would take 40 GB


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
    unit = _unit_rows(features)
    # The earlier of a pair goes, so each row needs only its nearest among the later ones.
    nearest, closeness = _nearest_later(unit)
    for _ in range(len(features) - size):  # sequential: each removal affects the next
        # Neighbours only leave, so the closeness of a row whose neighbour left is an upper bound.
        # It needs an update only if the bound reaches the closest row that is up to date.
        stale = kept & ~kept[nearest]
        certain = closeness.max(where=~stale, initial=-np.inf)
        again = np.flatnonzero(stale & (closeness >= certain))
        for row in again.tolist():
            nearest[row], closeness[row] = _nearest_kept(unit, row, kept)
        gone = closeness.argmax()  # the first of equals
        kept[gone] = False
        closeness[gone] = -np.inf
    return np.flatnonzero(kept)


def _unit_rows(features: Tensor) -> Tensor:
    # Cosines in double precision, rounded to single, are equal for equal distances. Otherwise
    # rounding would choose between two pairs of copies.
    exact = features.detach().cpu().double()
    norm = exact.norm(dim=1, keepdim=True)
    unit: Tensor = exact / norm.where(norm > 0, 1.0)
    return unit


def _nearest_later(unit: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Return the most similar later row of each row, and the cosine; -inf for the last row."""
    n = len(unit)
    nearest, closeness = np.zeros(n, dtype=np.int64), np.full(n, -np.inf, dtype=np.float32)
    chunk = max(1, ELEMENTS // n)
    for start in range(0, n, chunk):
        cosines = (unit[start : start + chunk] @ unit[start:].T).float().numpy()
        cosines[np.tri(*cosines.shape, dtype=np.bool_)] = -np.inf
        part = slice(start, start + chunk)
        nearest[part], closeness[part] = start + cosines.argmax(axis=1), cosines.max(axis=1)
    return nearest, closeness


def _nearest_kept(unit: Tensor, row: int, kept: np.ndarray) -> tuple[int, float]:
    """Return the most similar later row that is kept, and the cosine."""
    cosines = (unit[row + 1 :] @ unit[row]).float().numpy()
    cosines[~kept[row + 1 :]] = -np.inf
    if len(cosines) == 0:
        return row, -np.inf
    best = int(cosines.argmax())
    return row + 1 + best, float(cosines[best])
