"""Checks of features and labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scale._errors import InputError
from scale._images import as_array
from scale._names import shown

Array = NDArray[Any]


def check_features(features: ArrayLike, name: str = "features") -> NDArray[np.float32]:
    """Return `features` as a finite float32 matrix with at least one row."""
    given = as_array(features, name)
    if given.dtype.kind not in "fiub":
        raise InputError(f"{name} must be real numbers, got {given.dtype}")
    matrix = given.astype(np.float32, copy=False)  # (N, D)
    if matrix.ndim != 2 or matrix.size == 0:
        raise InputError(
            f"{name} have shape {matrix.shape}; expected (N, D) with N and D at least 1, "
            "one row per image"
        )
    if not np.isfinite(matrix).all():
        raise InputError(
            f"{name} hold NaN or infinite values; expected finite numbers, as of a learner that "
            "has not diverged"
        )
    return matrix


def check_labels(labels: ArrayLike, count: int, name: str = "labels") -> NDArray[np.int64]:
    """Return `labels` as int64, one for each of `count` rows."""
    vector = as_array(labels, name)
    if vector.shape != (count,) or vector.dtype.kind not in "iu":
        raise InputError(
            f"{name} have shape {vector.shape} and type {vector.dtype}; expected {count} "
            "whole numbers, one for each row of the features"
        )
    return vector.astype(np.int64)


def check_pair(labels: object, others: object, name: str) -> tuple[Array, Array]:
    """Return labels and `others` as int64, one of each for every image, of at least one."""
    found = as_array(labels, "labels")
    if found.ndim != 1 or found.size == 0:
        raise InputError(f"labels must be a list of whole numbers, got {shown(labels)}")
    return check_labels(found, len(found)), check_labels(others, len(found), name)  # type: ignore[arg-type]


def normalise(features: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows of length one; rows of zeros stay zeros."""
    length: NDArray[np.float32] = np.linalg.norm(features, axis=1, keepdims=True)  # (N, 1)
    length[length == 0] = 1
    return features / length
