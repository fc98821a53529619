"""Stream `seq-bl`: class by class with blurred boundaries."""

from __future__ import annotations

import numpy as np

from scale.streams._registry import STREAMS, Indices

BLURRED = 4  # exchange inside the last and the first 1/4 of neighbouring classes
AT_BOUNDARY, AT_FAR_END = 0.5, 0.05  # probabilities of an exchange


@STREAMS.register("seq-bl")
def seq_bl(by_class: list[Indices], rng: np.random.Generator) -> Indices:
    """Exchange samples of neighbouring classes at mirrored positions around their boundary.

    The samples d places before and after a boundary are exchanged with a probability that falls
    linearly, from 0.5 at the boundary to 0.05 at the end of the quarter. If classes differ in
    length, the shorter quarter counts.

    Examples
    --------
    >>> order = seq_bl([np.arange(8), np.arange(8, 16)], np.random.default_rng(1))
    >>> order[:6].tolist(), order[10:].tolist(), sorted(order[6:10].tolist())
    ([0, 1, 2, 3, 4, 5], [10, 11, 12, 13, 14, 15], [6, 7, 8, 9])
    """
    order = np.concatenate(by_class)
    lengths = [len(indices) for indices in by_class]
    boundaries = np.cumsum(lengths)[:-1]
    for boundary, before, after in zip(boundaries, lengths[:-1], lengths[1:], strict=True):
        reach = min(before, after) // BLURRED
        probability = np.linspace(AT_BOUNDARY, AT_FAR_END, reach)
        distance = np.flatnonzero(rng.random(reach) < probability)
        left, right = boundary - 1 - distance, boundary + distance
        order[left], order[right] = order[right], order[left]
    return order
