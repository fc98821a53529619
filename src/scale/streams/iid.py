"""Stream `iid`: all classes mixed."""

from __future__ import annotations

import numpy as np

from scale.streams._registry import STREAMS, Indices


@STREAMS.register("iid")
def iid(by_class: list[Indices], rng: np.random.Generator) -> Indices:
    """Shuffle all samples together.

    Examples
    --------
    >>> order = iid([np.array([0, 1, 2]), np.array([3, 4, 5])], np.random.default_rng(0))
    >>> sorted(order.tolist())
    [0, 1, 2, 3, 4, 5]
    """
    return rng.permutation(np.concatenate(by_class))
