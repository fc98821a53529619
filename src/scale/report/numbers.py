"""The numbers of a table in full, for other programs."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from scale.report.paired import Versus
from scale.report.rows import Row

DIFFERENCE = (
    *("against", "against_measure", "difference", "difference_low", "difference_high"),
    "difference_pairs",
)


def number_lines(rows: Sequence[Row], columns: Sequence[str], cpu_time: bool) -> list[list[Any]]:
    """Return a line of titles, and one for each row; None where there is no number.

    Examples
    --------
    >>> row = Row("mnist", "seq", "er", 2, {"knn": {0: 50.0, 1: 52.0}})
    >>> number_lines([row], ["knn"], cpu_time=True)[0][4:]
    ['seeds', 'knn_mean', 'knn_sd', 'knn_n']
    >>> number_lines([row], ["knn"], cpu_time=True)[1][4:]
    [2, 51.0, 1.4142135623730951, 2]
    """
    units = {"time": "cpu_minutes" if cpu_time else "wall_minutes", "memory": "peak_mb"}
    titles = ["dataset", "stream", "features", "floor", "seeds"]
    lines: list[list[Any]] = [[r.dataset, r.stream, r.features, _floor(r), r.seeds] for r in rows]
    for column in columns:
        if column == "paper":
            titles.append("paper_knn")
        else:
            titles += [f"{units.get(column, column)}_{what}" for what in ("mean", "sd", "n")]
        for line, row in zip(lines, rows, strict=True):
            line += [row.paper] if column == "paper" else _spread(row.values.get(column, []))
    return [titles, *lines]


def difference_lines(versus: Versus) -> list[list[Any]]:
    """Return a line of titles, and one for each row that is compared or not."""
    lines: list[list[Any]] = [list(DIFFERENCE)]
    for found in versus.differences:
        numbers: list[Any] = [None, None, None, 0]
        if found is not None:
            numbers = [found.mean, *(found.interval or (None, None)), found.pairs]
        lines.append([versus.against, versus.measure, *numbers])
    return lines


def _floor(row: Row) -> str:
    return "yes" if row.is_floor else "no"


def _spread(values: list[float]) -> list[Any]:
    """Return mean, standard deviation and n."""
    mean = statistics.mean(values) if values else None
    sd = statistics.stdev(values) if len(values) > 1 else None
    return [mean, sd, len(values)]
