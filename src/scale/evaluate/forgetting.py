"""What a series of evaluations along the stream says about forgetting."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scale._errors import InputError


def forgetting(per_class: ArrayLike) -> float:
    """Return the mean over classes of the best earlier accuracy minus the final one.

    Parameters
    ----------
    per_class
        Accuracy of each class at each evaluation, ``(evaluations, T)``, oldest first. In a run the
        start counts as the first evaluation.

    Returns
    -------
    float
        In the unit of `per_class`; negative when classes went on improving, 0 for a single
        evaluation.

    Examples
    --------
    >>> forgetting([[80, 10], [60, 50], [40, 70]])
    10.0
    """
    series = _series(per_class, "per-class accuracies", ndim=2)
    if len(series) == 1:
        return 0.0
    return float((series[:-1].max(axis=0) - series[-1]).mean())


def drop(knn: ArrayLike) -> float:
    """Return how far the final kNN accuracy is below the best of the series.

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
