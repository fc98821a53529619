"""Streams by name, and the function that a stream is."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from scale._registry import Registry

Indices = npt.NDArray[np.int64]


class Order(Protocol):
    """Puts the samples of all classes in the order in which they arrive."""

    def __call__(self, by_class: list[Indices], rng: np.random.Generator) -> Indices:
        """Return indices out of `by_class`, each at most once.

        Parameters
        ----------
        by_class
            The sampled indices of each class, shuffled, in the order of the classes. Do not modify
            them.
        rng
            The only source of randomness.
        """


STREAMS: Registry[Order] = Registry("stream")
register_stream = STREAMS.register
