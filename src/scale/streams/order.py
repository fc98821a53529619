"""From labels to the order of a stream; labels go no further than this."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from scale._errors import InputError
from scale.streams._registry import STREAMS, Indices

WITHOUT_LABELS = ("as-is", "iid")


def make_order(
    stream: str,
    labels: npt.NDArray[np.integer[Any]] | None,
    *,
    samples_per_class: int | None = None,
    class_order: Literal["natural", "seeded"] = "natural",
    seed: int = 0,
    num_samples: int | None = None,
) -> Indices:
    """Draw the samples of a stream and put them in its order.

    At one seed all streams draw from the same samples of each class, whatever the order of classes.

    Parameters
    ----------
    stream
        Name of a registered stream.
    labels
        Class of each sample, whole numbers from 0, used for nothing but the order; None is enough
        for `iid` and `as-is`, which then take every sample.
    samples_per_class
        U: how many samples of each class to draw, or all of a class that has fewer. None is the
        size of the smallest class, so that classes are equal; for `as-is` it is everything.
    class_order
        Whether classes come by rising label or in an order drawn from the seed.
    seed
        Equal seeds give equal orders.
    num_samples
        Number of samples in the data; needed only when there are no labels.

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
        raise InputError(f"samples_per_class is {samples_per_class}; give at least 1, or None")
    if class_order not in ("natural", "seeded"):
        raise InputError(f"class_order is {class_order!r}; give 'natural' or 'seeded'")
    if seed < 0:
        raise InputError(f"seed is {seed}; give a whole number from 0")
    # One generator for each decision: changing one of them leaves the others as they were.
    sampling, ordering, arranging = (
        np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(3)
    )
    if labels is None:
        by_class = [sampling.permutation(_unlabelled(stream, samples_per_class, num_samples))]
    else:
        keep_all = stream == "as-is" and samples_per_class is None
        by_class = _draw(_check_labels(labels), samples_per_class, keep_all, sampling)
    if class_order == "seeded":
        by_class = [by_class[c] for c in ordering.permutation(len(by_class))]
    return arrange(by_class, arranging)


def _draw(
    labels: Indices, samples_per_class: int | None, keep_all: bool, rng: np.random.Generator
) -> list[Indices]:
    """Shuffle each class, classes by rising label, and keep its first U samples."""
    shuffled = rng.permutation(len(labels))
    grouped = shuffled[np.argsort(labels[shuffled], kind="stable")]
    counts = np.bincount(labels)
    counts = counts[counts > 0]
    u = samples_per_class or (len(labels) if keep_all else int(counts.min()))
    return [indices[:u] for indices in np.split(grouped, np.cumsum(counts)[:-1])]


def _unlabelled(stream: str, samples_per_class: int | None, num_samples: int | None) -> Indices:
    if stream not in WITHOUT_LABELS:
        known = " or ".join(WITHOUT_LABELS)
        raise InputError(
            f"stream {stream!r} is ordered by class and there are no labels; use {known}"
        )
    if samples_per_class is not None:
        raise InputError("samples_per_class needs labels; leave it out when there are none")
    if num_samples is None or num_samples < 1:
        raise InputError(f"without labels, num_samples says how many samples: {num_samples} is not")
    return np.arange(num_samples, dtype=np.int64)


def _check_labels(labels: npt.NDArray[np.integer[Any]]) -> Indices:
    array = np.asarray(labels)
    if array.ndim != 1 or len(array) == 0:
        raise InputError(f"labels have shape {array.shape}; give one number for each sample")
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"labels are {array.dtype}; give whole numbers, one class each")
    if array.min() < 0:
        raise InputError(f"a label is {array.min()}; classes count from 0, and all must be known")
    return array.astype(np.int64)
