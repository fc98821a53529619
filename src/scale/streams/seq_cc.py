"""Stream `seq-cc`: neighbouring classes in pairs."""

from __future__ import annotations

import numpy as np

from scale.streams._registry import STREAMS, Indices


@STREAMS.register("seq-cc")
def seq_cc(by_class: list[Indices], rng: np.random.Generator) -> Indices:
    """Shuffle two neighbouring classes together, then the next two; a last odd class is alone.

    Examples
    --------
    >>> classes = [np.array([0, 1]), np.array([2, 3]), np.array([4, 5])]
    >>> order = seq_cc(classes, np.random.default_rng(0))
    >>> sorted(order[:4].tolist()), sorted(order[4:].tolist())
    ([0, 1, 2, 3], [4, 5])
    """
    pairs = [np.concatenate(by_class[first : first + 2]) for first in range(0, len(by_class), 2)]
    return np.concatenate([rng.permutation(pair) for pair in pairs])
