"""The number of dimensions that the features use."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scale.evaluate._checks import check_features, normalise

COLLAPSED_RANK = 2.0
COLLAPSED_COSINE = 0.995


def effective_rank(features: Any) -> float:
    """Return the exponential of the entropy of the centred features' singular values.

    The singular values are scaled to sum to one (Roy and Vetterli, 2007). The rank is 1 if all
    variance is in one direction, the number of dimensions if all directions have the same variance,
    and 0 if all rows are equal.

    Parameters
    ----------
    features
        ``(N, D)``, an array or a torch tensor.

    Examples
    --------
    >>> round(effective_rank([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), 6)
    2.0
    """
    rows = _matrix(features).astype(np.float64)  # (N, D)
    energy = np.square(rows).sum()
    rows -= rows.mean(axis=0)
    gram = rows.T @ rows if rows.shape[0] > rows.shape[1] else rows @ rows.T
    squares = np.linalg.eigvalsh(gram)
    # Below this, centred rows differ only by rounding.
    singular = np.sqrt(squares[squares > energy * np.finfo(np.float32).eps ** 2])
    if singular.size == 0:
        return 0.0
    share = singular / singular.sum()
    return float(np.exp(-(share * np.log(share)).sum()))


def mean_cosine(features: Any) -> float:
    """Return the mean cosine over all pairs of different rows; 0 without a pair.

    Rows of zeros have no direction and are left out.

    Examples
    --------
    >>> mean_cosine([[1.0, 0.0], [5.0, 0.0], [0.0, 0.0]])
    1.0
    """
    rows = normalise(_matrix(features)).astype(np.float64)
    count = int(rows.any(axis=1).sum())
    if count < 2:
        return 0.0
    # |sum of rows|^2 counts every ordered pair, and each row with itself.
    total = np.square(rows.sum(axis=0)).sum() - np.square(rows).sum()
    return float(np.clip(total / (count * (count - 1)), -1, 1))


def collapsed(features: Any) -> bool:
    """Return whether the features have collapsed to a line or a point.

    They have if their effective rank is below 2 or their mean pairwise cosine is above 0.995.
    Fewer than 3 rows never count as collapsed.

    Examples
    --------
    >>> collapsed([[1.0, 2.0]] * 5), collapsed(np.eye(5))
    (True, False)
    """
    rows = _matrix(features)
    if len(rows) < 3:
        return False
    return effective_rank(rows) < COLLAPSED_RANK or mean_cosine(rows) > COLLAPSED_COSINE


def _matrix(features: Any) -> NDArray[np.float32]:
    # A tensor is recognised by its method, so that this module does not need torch.
    return check_features(features)
