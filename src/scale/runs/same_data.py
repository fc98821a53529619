"""Check that a resumed run has the data that it began with."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np

from scale.evaluate import Evaluator
from scale.streams import Stream

PIXEL_BYTES = 2**28  # most pixels in a digest; larger data is sampled evenly
CHUNK = 1024  # images copied at a time


def digests(
    stream: Stream, labels: np.ndarray | None, evaluator: Evaluator | None
) -> dict[str, str]:
    """Return SHA-256 digests of a run's data, to detect a change.

    Parameters
    ----------
    stream
        The stream, for the digests `order` and `pixels`.
    labels
        Class of each image in the order of the stream, for the digest `labels`.
    evaluator
        Evaluation set and bank, for the digest `evaluation`.
    """
    found = {
        "order": _digest([stream.order]),
        "pixels": _digest(_spread(stream.images, np.sort(stream.order))),
    }
    if labels is not None:
        found["labels"] = _digest([labels])
    if evaluator is not None:
        sets = evaluator.sets
        images = (sets.eval_images, sets.bank_images)
        pixels = (_spread(some, np.arange(len(some))) for some in images)
        found["evaluation"] = _digest(chain([sets.eval_labels, sets.bank_labels], *pixels))
    return found


FACTS: dict[str, Callable[[Any], str]] = {
    "available": lambda count: f"{count} images",
    "image_shape": lambda shape: f"images of {' x '.join(map(str, shape))}",
    "class_names": lambda names: f"{len(names)} classes ({', '.join(names[:10])})",
    "images": lambda count: f"{count} images in the stream",
    "per_class": lambda counts: f"{counts} images by class",
    "evaluation": lambda counts: f"{counts} for the evaluation",
}
"""Text of each fact, the most informative first."""

CHANGES = {
    "labels": "the images have other labels",
    "pixels": "the images have other pixels",
    "evaluation": "the images of the evaluation are others",
    "order": "the images come in another order",
}
"""Meaning of a changed digest."""


def data_change(then: dict[str, Any], now: dict[str, Any]) -> str | None:
    """Return in words how the data differs from before, or None if it is the same.

    Parameters
    ----------
    then, now
        Results of `Setting.facts`. Facts missing from `then` are not compared.
    """
    for name, tell in FACTS.items():
        if name in then and then[name] != now[name]:
            return f"{tell(then[name])} then, {tell(now[name])} now"
    before, after = then.get("digests", {}), now["digests"]
    for name, change in CHANGES.items():
        if name in before and before[name] != after.get(name):
            return change
    return None


def _spread(images: np.ndarray, indices: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the images at `indices`, or an evenly spaced part if there are too many."""
    step = -(-len(indices) * images[0].nbytes // PIXEL_BYTES)
    chosen = indices[::step]
    for at in range(0, len(chosen), CHUNK):
        yield images[chosen[at : at + CHUNK]]


def _digest(arrays: Iterable[np.ndarray]) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
