"""Stream `as-is`: the order of the data."""

from __future__ import annotations

import numpy as np

from scale.streams._registry import STREAMS, Indices


@STREAMS.register("as-is")
def as_is(by_class: list[Indices], rng: np.random.Generator) -> Indices:
    """Keep the order of the data: frames of a video, files of a folder.

    Examples
    --------
    >>> as_is([np.array([2, 0]), np.array([1, 3])], np.random.default_rng(0)).tolist()
    [0, 1, 2, 3]
    """
    return np.sort(np.concatenate(by_class))
