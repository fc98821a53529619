"""Make the order of a stream from labels; the stream itself carries none."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from scale._errors import InputError
from scale._images import check_labels
from scale._machine import check_memory
from scale._names import check_one_of
from scale._numbers import check_number
from scale.streams._registry import STREAMS, Indices

WITHOUT_LABELS = ("as-is", "frames", "iid")
TAKE_ALL = ("as-is", "frames")  # unless samples_per_class is given


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
        Class of each sample, integers from 0. `iid`, `as-is` and `frames` work without labels and
        then take every sample.
    samples_per_class
        Number of samples of each class, U; a smaller class gives all it has. None takes the size of
        the smallest class; with `as-is` and `frames` it takes everything. `frames` takes the first
        samples of each class instead of random ones, so that neighbours stay neighbours.
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
    if samples_per_class is not None:
        check_number("samples_per_class", samples_per_class, least=1, whole=True)
    check_one_of("class_order", class_order, ("natural", "seeded"))
    check_number("seed", seed, least=0, whole=True)
    if num_samples is not None:
        check_number("num_samples", num_samples, least=1, whole=True)
    # One generator for each decision: changing one decision does not change the others.
    sampling, ordering, arranging = (
        np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(3)
    )
    if labels is None:
        by_class = [sampling.permutation(_unlabelled(stream, samples_per_class, num_samples))]
    else:
        classes = check_labels(labels, least=0)
        if len(classes) == 0:
            raise InputError("there are no labels; a stream needs at least one sample")
        by_class = _draw(classes, samples_per_class, stream, sampling)
    if class_order == "seeded":
        by_class = [by_class[c] for c in ordering.permutation(len(by_class))]
    return arrange(by_class, arranging)


def _draw(
    labels: Indices, samples_per_class: int | None, stream: str, rng: np.random.Generator
) -> list[Indices]:
    """Return U random samples of each class, the first U of `frames`, classes by rising label."""
    order = np.arange(len(labels)) if stream == "frames" else rng.permutation(len(labels))
    grouped = order[np.argsort(labels[order], kind="stable")]
    _, counts = np.unique(labels, return_counts=True)
    u = samples_per_class or (len(labels) if stream in TAKE_ALL else int(counts.min()))
    return [indices[:u] for indices in np.split(grouped, np.cumsum(counts)[:-1])]


def _unlabelled(stream: str, samples_per_class: int | None, num_samples: int | None) -> Indices:
    if stream not in WITHOUT_LABELS:
        known = ", ".join(WITHOUT_LABELS[:-1]) + f" or {WITHOUT_LABELS[-1]}"
        raise InputError(f"stream {stream!r} orders by class, but there are no labels; use {known}")
    if samples_per_class is not None:
        raise InputError("samples_per_class needs labels; leave it out when there are none")
    if num_samples is None:
        raise InputError("without labels, num_samples must be given")
    check_memory(3 * 8 * num_samples, f"the order of {num_samples} samples", "give fewer samples")
    return np.arange(num_samples, dtype=np.int64)
