"""The streams by name, and the shape of the function behind a name."""

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
            The sampled indices of each class, in the order in which the classes come and already
            shuffled inside each class; not to be modified.
        rng
            Source of all randomness.
        """


STREAMS: Registry[Order] = Registry("stream")
register_stream = STREAMS.register
