"""Stream `frames`: images in the order in which they were taken."""

from __future__ import annotations

import numpy as np

from scale.streams._registry import STREAMS, Indices


@STREAMS.register("frames")
def frames(by_class: list[Indices], rng: np.random.Generator) -> Indices:
    """Return class after class, each in the order of the data: its files by name, its frames.

    Examples
    --------
    >>> frames([np.array([2, 0]), np.array([3, 1])], np.random.default_rng(0)).tolist()
    [0, 2, 1, 3]
    """
    return np.concatenate([np.sort(one) for one in by_class])
