"""Make the order of a stream from labels; the stream itself carries none."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from scale._errors import InputError
from scale._images import check_labels
from scale.streams._registry import STREAMS, Indices

WITHOUT_LABELS = ("as-is", "iid")


def make_order(
    stream: str,
    labels: npt.ArrayLike | None,
    *,
    samples_per_class: int | None = None,
    class_order: Literal["natural", "seeded"] = "natural",
    seed: int = 0,
    num_samples: int | None = None,
) -> Indices:
    """Return the samples of a stream, drawn from the seed, in its order.

    All streams of one seed draw from the same samples of each class.

    Parameters
    ----------
    stream
        Name of a registered stream.
    labels
        Class of each sample, integers from 0. `iid` and `as-is` work without labels and then take
        every sample.
    samples_per_class
        Number of samples of each class, U; a smaller class gives all it has. None takes the size of
        the smallest class; with `as-is` it takes everything.
    class_order
        ``"natural"``: classes by rising label. ``"seeded"``: in an order drawn from the seed.
    seed
        Equal seeds give equal orders.
    num_samples
        Number of samples in the data. Needed only without labels.

    Returns
    -------
    ndarray of int64
        Indices of samples, each at most once.

    Examples
    --------
    >>> make_order("seq", np.array([1, 0, 1, 0]), seed=1).tolist()
    [3, 1, 0, 2]
    """
    arrange = STREAMS[stream]
    if samples_per_class is not None and samples_per_class < 1:
        raise InputError(f"samples_per_class must be 1 or more, or None, got {samples_per_class}")
    if class_order not in ("natural", "seeded"):
        raise InputError(f"class_order must be 'natural' or 'seeded', got {class_order!r}")
    if seed < 0:
        raise InputError(f"seed must be 0 or more, got {seed}")
    # One generator for each decision: changing one decision does not change the others.
    sampling, ordering, arranging = (
        np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(3)
    )
    if labels is None:
        by_class = [sampling.permutation(_unlabelled(stream, samples_per_class, num_samples))]
    else:
        keep_all = stream == "as-is" and samples_per_class is None
        by_class = _draw(check_labels(labels, least=0), samples_per_class, keep_all, sampling)
    if class_order == "seeded":
        by_class = [by_class[c] for c in ordering.permutation(len(by_class))]
    return arrange(by_class, arranging)


def _draw(
    labels: Indices, samples_per_class: int | None, keep_all: bool, rng: np.random.Generator
) -> list[Indices]:
    """Return U random samples of each class, classes by rising label."""
    shuffled = rng.permutation(len(labels))
    grouped = shuffled[np.argsort(labels[shuffled], kind="stable")]
    counts = np.bincount(labels)
    counts = counts[counts > 0]
    u = samples_per_class or (len(labels) if keep_all else int(counts.min()))
    return [indices[:u] for indices in np.split(grouped, np.cumsum(counts)[:-1])]


def _unlabelled(stream: str, samples_per_class: int | None, num_samples: int | None) -> Indices:
    if stream not in WITHOUT_LABELS:
        known = " or ".join(WITHOUT_LABELS)
        raise InputError(f"stream {stream!r} orders by class, but there are no labels; use {known}")
    if samples_per_class is not None:
        raise InputError("samples_per_class needs labels; leave it out when there are none")
    if num_samples is None or num_samples < 1:
        raise InputError(f"without labels, num_samples must be 1 or more, got {num_samples}")
    return np.arange(num_samples, dtype=np.int64)
