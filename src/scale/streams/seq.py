"""Stream `seq`: class by class."""

from __future__ import annotations

import numpy as np

from scale.streams._registry import STREAMS, Indices


@STREAMS.register("seq")
def seq(by_class: list[Indices], rng: np.random.Generator) -> Indices:
    """Return all samples of one class, then all of the next.

    Examples
    --------
    >>> seq([np.array([2, 0]), np.array([1, 3])], np.random.default_rng(0)).tolist()
    [2, 0, 1, 3]
    """
    return np.concatenate(by_class)
