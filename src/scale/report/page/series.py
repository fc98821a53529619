"""Long series as a chart needs them: few points, no NaN."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

MOST = 1500  # points of a line
COLUMNS = 200  # of a heat map


def thin(records: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, list[Any]]:
    """Return positions and the named numbers of records, at most 1500 of each.

    Of more records, each of 750 equal parts gives two points: its least and its greatest value, in
    the order in which they came, at the first and the last position of the part. No peak is lost.

    Examples
    --------
    >>> thin([{"position": 1, "loss": 2.0}, {"position": 2}], ["loss"])
    {'position': [1.0, 2.0], 'loss': [2.0, None]}
    """
    columns = {
        name: np.array([_number(record.get(name)) for record in records], float)
        for name in ("position", *names)
    }
    if len(records) > MOST:
        columns = {name: _extremes(values) for name, values in columns.items()}
    return {name: [rounded(value) for value in values] for name, values in columns.items()}


def _number(value: float | None) -> float:
    return math.nan if value is None or not math.isfinite(value) else float(value)


def _extremes(values: np.ndarray) -> np.ndarray:
    """Return the least and the greatest value of each of 750 parts, in the order they came."""
    found: list[float] = []
    for part in np.array_split(values, MOST // 2):
        known = part[~np.isnan(part)]
        ends = sorted((known.argmin(), known.argmax())) if len(known) else []
        found += known[ends].tolist() if ends else [math.nan, math.nan]
    return np.array(found)


def rounded(value: float, digits: int = 5) -> float | None:
    """Return a number with some significant digits; None for NaN and infinity.

    Examples
    --------
    >>> rounded(3.14159265), rounded(math.nan)
    (3.1416, None)
    """
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None


def shrink(matrix: np.ndarray, columns: int = COLUMNS) -> list[list[float | None]]:
    """Return the rows of a matrix, averaged to at most `columns` columns."""
    if matrix.shape[1] > columns:
        edges = np.linspace(0, matrix.shape[1], columns + 1).astype(int)
        matrix = np.stack([matrix[:, a:b].mean(1) for a, b in zip(edges, edges[1:])], 1)  # noqa: B905, RUF007
    return [[rounded(float(value), 3) for value in row] for row in matrix]
