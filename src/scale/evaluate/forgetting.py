"""Forgetting, from a series of evaluations along the stream."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scale._errors import InputError


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
    first = np.zeros(series.shape[1], dtype=int) if since is None else np.asarray(since)
    if first.shape != series.shape[1:]:
        raise InputError(f"since has shape {first.shape}; expected one for each class")
    lost = [s[k:-1].max() - s[-1] for s, k in zip(series.T, first, strict=True) if k < len(s) - 1]
    return float(np.mean(lost)) if lost else 0.0


def learned_at(labels: ArrayLike, positions: ArrayLike, T: int) -> NDArray[np.int64]:
    """Return for each class the first evaluation at which half of its images have passed.

    Parameters
    ----------
    labels
        Class of each image, in the order of the stream.
    positions
        Number of stream images before each evaluation, ascending.
    T
        Number of classes.

    Returns
    -------
    NDArray
        ``(T,)``, indices into `positions`; ``len(positions)`` for a class without such an
        evaluation.

    Examples
    --------
    >>> learned_at([0, 0, 0, 1, 1, 1], positions=[0, 2, 4, 6], T=3).tolist()
    [1, 3, 4]
    """
    classes, at = np.asarray(labels), np.asarray(positions)
    found = np.full(T, len(at), dtype=np.int64)
    for c in np.unique(classes):
        came = np.flatnonzero(classes == c) + 1  # stream images up to each image of the class
        found[c] = np.searchsorted(at, came[(len(came) - 1) // 2])
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
    series = np.asarray(values, dtype=np.float64)
    if series.ndim != ndim or series.size == 0 or not np.isfinite(series).all():
        raise InputError(
            f"{name} have shape {series.shape}; expected {ndim} dimension(s), at least one "
            "evaluation, and finite values only"
        )
    return series
