"""Stream `seq-im`: class by class, classes of different length."""

from __future__ import annotations

import numpy as np

from scale.streams._registry import STREAMS, Indices


@STREAMS.register("seq-im")
def seq_im(by_class: list[Indices], rng: np.random.Generator) -> Indices:
    """Return V samples of each class, class by class, with V uniform in [U/2, U] for each.

    Examples
    --------
    >>> order = seq_im([np.arange(10), np.arange(10, 20)], np.random.default_rng(0))
    >>> counts = np.bincount(order // 10)
    >>> bool((counts >= 5).all() and (counts <= 10).all())
    True
    """
    lengths = np.array([len(indices) for indices in by_class])  # U of each class
    kept = rng.integers((lengths + 1) // 2, lengths, endpoint=True)  # V of each class
    return np.concatenate([indices[:v] for indices, v in zip(by_class, kept, strict=True)])
