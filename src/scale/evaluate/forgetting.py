"""Forgetting, from a series of evaluations along the stream."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scale._errors import InputError
from scale._images import as_array


def forgetting(per_class: ArrayLike, since: ArrayLike | None = None) -> float:
    """Return the mean over classes of the best earlier accuracy minus the final one.

    Parameters
    ----------
    per_class
        Accuracy of each class at each evaluation, ``(evaluations, T)``, oldest first. In a run the
        start counts as the first evaluation.
    since
        First evaluation that counts for each class (see `learned_at`). It leaves out accuracy from
        before a class appeared. A class for which only the last evaluation counts is left out.

    Returns
    -------
    float
        In the unit of `per_class`. Negative if the last evaluation is the best; 0 for a single
        evaluation.

    Examples
    --------
    >>> forgetting([[80, 10], [60, 50], [40, 70]])
    10.0
    >>> forgetting([[80, 90], [60, 80], [40, 70]], since=[1, 2])
    20.0
    """
    series = _series(per_class, "per-class accuracies", ndim=2)
    first = np.zeros(series.shape[1], int) if since is None else as_array(since, "since")
    if first.shape != series.shape[1:] or first.dtype.kind not in "iu":
        raise InputError(
            f"since has shape {first.shape} and type {first.dtype}; expected a whole number for "
            "each class"
        )
    lost = [s[k:-1].max() - s[-1] for s, k in zip(series.T, first, strict=True) if k < len(s) - 1]
    return float(np.mean(lost)) if lost else 0.0


def learned_at(labels: ArrayLike, positions: ArrayLike, classes: ArrayLike) -> NDArray[np.int64]:
    """Return for each class the first evaluation at which half of its images have passed.

    Parameters
    ----------
    labels
        Class of each image, in the order of the stream.
    positions
        Number of stream images before each evaluation, ascending.
    classes
        The evaluated classes, in the order of their accuracies. Any numbers: other classes may be
        in the stream, and some of these may not.

    Returns
    -------
    NDArray
        One index into `positions` for each of `classes`; ``len(positions)`` for a class without
        such an evaluation.

    Examples
    --------
    >>> learned_at([7, 7, 7, 2, 2, 2], positions=[0, 2, 4, 6], classes=[2, 5, 7]).tolist()
    [3, 4, 1]
    """
    stream, at = np.asarray(labels), np.asarray(positions)
    evaluated = np.asarray(classes)
    found = np.full(len(evaluated), len(at), dtype=np.int64)
    for i, label in enumerate(evaluated):
        came = np.flatnonzero(stream == label) + 1  # stream images up to each image of the class
        if len(came):
            found[i] = np.searchsorted(at, came[(len(came) - 1) // 2])
    return found


def drop(knn: ArrayLike) -> float:
    """Return the best kNN accuracy of the series minus the final one.

    Examples
    --------
    >>> drop([20, 33, 30])
    3.0
    """
    series = _series(knn, "kNN accuracies", ndim=1)
    return float(series.max() - series[-1])


def average(knn: ArrayLike, positions: ArrayLike) -> float:
    """Return the mean kNN accuracy over the evaluations after position 0 of the stream.

    Examples
    --------
    >>> average([24, 30, 32], positions=[0, 5000, 10000])
    31.0
    """
    series = _series(knn, "kNN accuracies", ndim=1)
    seen = np.asarray(positions)
    if seen.shape != series.shape:
        raise InputError(
            f"there are {len(series)} kNN accuracies and positions of shape {seen.shape}; "
            "expected one position for each"
        )
    if not (seen > 0).any():
        raise InputError("every evaluation is at position 0; evaluate after some images as well")
    return float(series[seen > 0].mean())


def _series(values: ArrayLike, name: str, ndim: int) -> NDArray[np.float64]:
    given = as_array(values, name)
    if given.dtype.kind not in "fiub":
        raise InputError(f"{name} must be real numbers, got {given.dtype}")
    series = given.astype(np.float64)
    if series.ndim != ndim or series.size == 0 or not np.isfinite(series).all():
        raise InputError(
            f"{name} have shape {series.shape}; expected {ndim} dimension(s), at least one "
            "evaluation, and finite values only"
        )
    return series
