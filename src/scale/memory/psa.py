"""The part-and-select algorithm (PSA): a subset that is spread evenly over the feature space."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from scale.memory._policy import Candidates, Policy, PolicyKnowledge, register_policy


@register_policy("psa")
class PSA(Policy):
    """Keep one sample from each of `size` parts of the feature space (the paper's policy).

    References
    ----------
    Salomon et al. (2013), PSA - A New Scalable Space Partition Based Selection Algorithm for MOEAs;
    Wessing (2015), Two-stage methods for multimodal optimization.
    """

    knows = PolicyKnowledge(features=True)

    def __call__(self, candidates: Candidates, size: int, generator: torch.Generator) -> Tensor:
        assert candidates.features is not None
        features = candidates.features.cpu().numpy()
        return torch.from_numpy(psa_select(features, size))


def psa_select(points: np.ndarray, size: int) -> np.ndarray:
    """Return the sorted indices of `size` well-spread rows of `points`.

    It splits the set of greatest Chebyshev diameter at the middle of its widest dimension, until
    there are `size` sets. From each it keeps the member nearest to the centre of its bounding box.

    The split of a set does not depend on the order of splits, and no part is wider than its set. So
    the sets to split are the `size - 1` widest of the whole tree. The tree grows level by level,
    with all sets of a level at once.

    Examples
    --------
    >>> psa_select(np.array([[0.0], [0.1], [0.2], [5.0], [9.0]]), 3)
    array([1, 3, 4])
    """
    if size >= len(points):
        return np.arange(len(points))
    sets = _partition(points, size)
    kept = _nearest_to_centre(points, sets)
    if len(kept) < size:  # fewer distinct rows than `size`: fill up with the earliest copies
        spare = np.setdiff1d(np.arange(len(points)), kept)
        kept = np.concatenate([kept, spare[: size - len(kept)]])
    return np.sort(kept)


def _partition(points: np.ndarray, size: int) -> np.ndarray:
    """Return the set of each point, a number below `size`."""
    levels = []  # per level: the points, their set in that level, and the side they go to
    diameters: list[np.ndarray] = []
    members = np.arange(len(points))
    counts = np.array([len(points)])
    while len(counts):
        set_of = np.repeat(np.arange(len(counts)), counts)
        low, high = _bounds(points[members], set_of, len(counts))
        width = high - low  # (sets, d)
        dim = width.argmax(axis=1)
        widest = (np.arange(len(counts)), dim)
        diameter = width[widest]
        # In double precision: two neighbouring floats have no float between them.
        middle = (low[widest].astype(np.float64) + high[widest]) / 2
        side = points[members, dim[set_of]] >= middle[set_of]
        levels.append((members, set_of, side))
        diameters.append(diameter)
        members, counts = _split(members, set_of, side, diameter > _cutoff(diameters, size))
    return _cut(levels, diameters, size, len(points))


def _bounds(values: np.ndarray, set_of: np.ndarray, sets: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and the highest corner of the box around each set, (sets, d) each."""
    source = torch.from_numpy(values)
    index = torch.from_numpy(set_of)[:, None].expand_as(source)
    # torch's scatter takes a tenth of the time of numpy's reduceat.
    low = source.new_full((sets, values.shape[1]), torch.inf)
    high = source.new_full((sets, values.shape[1]), -torch.inf)
    low.scatter_reduce_(0, index, source, "amin")
    high.scatter_reduce_(0, index, source, "amax")
    return low.numpy(), high.numpy()


def _cutoff(diameters: list[np.ndarray], size: int) -> float:
    """Return a width such that no set at or below it is split, so its parts are not needed."""
    known = np.concatenate(diameters)
    if size <= 1:
        return np.inf
    return 0.0 if len(known) < size else float(np.partition(known, -size + 1)[-size + 1])


def _split(
    members: np.ndarray, set_of: np.ndarray, side: np.ndarray, wide: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the members of the next level's sets of two or more, and the size of each set."""
    part = 2 * set_of + side
    order = np.argsort(part, kind="stable")
    count = np.bincount(part, minlength=2 * len(wide))
    go_on = (count >= 2) & np.repeat(wide, 2)
    return members[order[go_on[part[order]]]], count[go_on]


def _cut(
    levels: list[tuple[np.ndarray, np.ndarray, np.ndarray]],
    diameters: list[np.ndarray],
    size: int,
    n: int,
) -> np.ndarray:
    flat = np.concatenate(diameters)
    widest = np.argsort(-flat, kind="stable")[: size - 1]  # stable: parents before equal parts
    splits = np.zeros(len(flat), dtype=bool)
    splits[widest] = flat[widest] > 0
    sets = np.zeros(n, dtype=int)
    first = 0
    for (members, set_of, side), diameter in zip(levels, diameters, strict=True):
        chosen = splits[first + set_of]
        sets[members[chosen]] = 1 + 2 * (first + set_of[chosen]) + side[chosen]
        first += len(diameter)
    return np.unique(sets, return_inverse=True)[1]


def _nearest_to_centre(points: np.ndarray, sets: np.ndarray) -> np.ndarray:
    # In double precision both members of a pair are equally far, and the earlier one is kept.
    # In single precision, rounding would choose.
    exact = points.astype(np.float64)
    low, high = _bounds(exact, sets, int(sets.max()) + 1)
    distance = np.square(exact - ((low + high) / 2)[sets]).sum(axis=1)
    order = np.lexsort((distance, sets))
    return order[np.flatnonzero(np.diff(sets[order], prepend=-1))]
