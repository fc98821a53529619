"""The fraction of each class over the time of a stream, for a picture of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from scale._errors import InputError
from scale._images import check_labels
from scale._machine import check_memory
from scale._numbers import check_number


def class_over_time(
    order: npt.NDArray[np.integer[Any]],
    labels: npt.NDArray[np.integer[Any]],
    num_classes: int,
    bins: int = 200,
) -> npt.NDArray[np.float64]:
    """Return the fraction of each class in each of `bins` equal parts of a stream.

    Parameters
    ----------
    order
        Indices in the order of the stream.
    labels
        Class of each sample of the data, in [0, num_classes).
    num_classes
        T, the number of classes.
    bins
        Number of parts. In a shorter stream, a sample is in several parts.

    Returns
    -------
    ndarray
        (bins, T); rows sum to 1.

    Examples
    --------
    >>> class_over_time(np.array([0, 2, 1, 3]), np.array([0, 1, 0, 1]), 2, bins=2).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    check_number("num_classes", num_classes, least=1, whole=True)
    check_number("bins", bins, least=1, whole=True)
    needed = 8 * 3 * bins * num_classes
    check_memory(needed, f"a picture of {bins} bins and {num_classes} classes", "use fewer bins")
    arriving = _arriving(order, labels)
    if arriving.min() < 0 or arriving.max() >= num_classes:
        raise InputError(
            f"labels of {num_classes} classes must be from 0 to {num_classes - 1}, got "
            f"{arriving.min()} to {arriving.max()}"
        )
    if len(arriving) < bins:
        arriving = arriving[np.arange(bins) * len(arriving) // bins]
    part = np.arange(len(arriving)) * bins // len(arriving)
    counts = np.bincount(part * num_classes + arriving, minlength=bins * num_classes)
    counts = counts.reshape(bins, num_classes)
    fraction: npt.NDArray[np.float64] = counts / counts.sum(1, keepdims=True)
    return fraction


def _arriving(order: object, labels: object) -> npt.NDArray[np.int64]:
    """Return the class of each sample of a stream."""
    classes, rows = check_labels(labels), check_labels(order, name="order")
    if len(rows) == 0:
        raise InputError("order has no samples; a picture needs at least one")
    if rows.min() < 0 or rows.max() >= len(classes):
        raise InputError(
            f"order must have indices from 0 to {len(classes) - 1}, one of {len(classes)} labels, "
            f"got {rows.min()} to {rows.max()}"
        )
    return classes[rows]
