"""Long series as a chart needs them: few points, no NaN."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

MOST = 1500  # points of a line


def thin(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return positions and the named numbers of records, averaged to at most 1500 points.

    Examples
    --------
    >>> thin([{"position": 1, "loss": 2.0}, {"position": 2}], ["loss"])
    {'position': [1.0, 2.0], 'loss': [2.0, None]}
    """
    return {
        name: shorten([record.get(name) for record in records]) for name in ("position", *names)
    }


def shorten(values: Sequence[float | None]) -> list[float | None]:
    """Return the means of equal parts of a series, at most 1500; None where there is no number."""
    numbers = np.array([math.nan if v is None else float(v) for v in values], float)
    parts = np.array_split(numbers, MOST) if len(numbers) > MOST else numbers[:, None]
    return [rounded(_mean(part)) for part in parts]


def rounded(value: float, digits: int = 5) -> float | None:
    """Return a number with some significant digits; None for NaN and infinity.

    Examples
    --------
    >>> rounded(3.14159265), rounded(math.nan)
    (3.1416, None)
    """
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def shrink(matrix: np.ndarray, columns: int = 200) -> list[list[float | None]]:
    """Return the rows of a matrix, averaged to at most `columns` columns."""
    if matrix.shape[1] > columns:
        edges = np.linspace(0, matrix.shape[1], columns + 1).astype(int)
        matrix = np.stack([matrix[:, a:b].mean(1) for a, b in zip(edges, edges[1:])], 1)  # noqa: B905, RUF007
    return [[rounded(float(value), 3) for value in row] for row in matrix]


def _mean(part: np.ndarray) -> float:
    known = part[np.isfinite(part)]
    return float(known.mean()) if len(known) else math.nan
