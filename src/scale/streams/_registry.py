"""The registry of streams, and the interface of a stream's function."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from scale._registry import Registry

Indices = npt.NDArray[np.int64]


class Order(Protocol):
    """Puts the samples of all classes in the order of a stream."""

    def __call__(self, by_class: list[Indices], rng: np.random.Generator) -> Indices:
        """Return indices from `by_class`, each at most once.

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
