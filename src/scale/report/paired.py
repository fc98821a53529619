"""Differences between two rows of a table, paired over the seeds that both have."""

from __future__ import annotations

import difflib
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scale._errors import InputError, UnknownNameError
from scale.report.rows import Row

LEVEL = 0.95


@dataclass(frozen=True)
class Difference:
    """How much more one has than the other, on average over seeds."""

    mean: float
    interval: tuple[float, float] | None
    """Where the mean lies with a confidence of 95 %; a single pair does not tell."""
    pairs: int

    def text(self, digits: int = 2) -> str:
        """Return it for a cell.

        Examples
        --------
        >>> Difference(2.314, (0.4, 4.228), 3).text()
        '+2.31 [0.40, 4.23]'
        """
        mean = f"{_rounded(self.mean, digits):+.{digits}f}"
        if self.interval is None:
            return mean
        low, high = (f"{_rounded(end, digits):.{digits}f}" for end in self.interval)
        return f"{mean} [{low}, {high}]"


@dataclass(frozen=True)
class Versus:
    """The differences of a table's rows to the row of one name."""

    against: str
    measure: str
    differences: list[Difference | None]


def paired_difference(
    values: Mapping[int, float], others: Mapping[int, float]
) -> Difference | None:
    """Return values minus others over their common seeds; None when there are none.

    The interval is Student's, of the differences.

    Parameters
    ----------
    values, others
        A measure by seed.

    Examples
    --------
    >>> paired_difference({0: 5.0, 1: 7.0}, {1: 4.0, 2: 9.0})
    Difference(mean=3.0, interval=None, pairs=1)
    """
    differences = [values[seed] - others[seed] for seed in values if seed in others]
    if not differences:
        return None
    return Difference(statistics.mean(differences), mean_interval(differences), len(differences))


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return Student's 95 % confidence interval of a mean; None when one value does not tell.

    Examples
    --------
    >>> low, high = mean_interval([1.0, 2.0, 3.0])
    >>> round(low, 3), round(high, 3)
    (-0.484, 4.484)
    """
    n = len(values)
    if n < 2:
        return None
    from scipy.stats import t

    mean = statistics.mean(values)
    half = float(t.ppf((1 + LEVEL) / 2, n - 1)) * statistics.stdev(values) / n**0.5
    return mean - half, mean + half


def differences_against(rows: Sequence[Row], name: str, measure: str) -> list[Difference | None]:
    """Return the difference of each row to the one called `name` on the same dataset and stream.

    Parameters
    ----------
    rows
        Of a table.
    name
        All of a row's name; or its variant, its method or its floor, when only one has that.
    measure
        What is compared.

    Returns
    -------
    differences
        None for rows that share no seed with it, for itself, and where there is none of the name.
    """
    references = {place: find_row(rows, place, name) for place in map(_place, rows)}
    if not any(references.values()):
        raise _unknown(rows, name)
    found: list[Difference | None] = []
    for row in rows:
        other = references[_place(row)]
        if other is None or other is row:
            found.append(None)
        else:
            values, others = (each.measured.get(measure, {}) for each in (row, other))
            found.append(paired_difference(values, others))
    return found


def find_row(rows: Sequence[Row], place: tuple[str, str], name: str) -> Row | None:
    """Return the row called `name` on a dataset and stream; None when there is none.

    Raises when several rows have that method or variant, and `name` is not all of a row's name.
    """
    here = [row for row in rows if _place(row) == place]
    exact = [row for row in here if row.features == name]
    called = exact or [row for row in here if name in row.other_names]
    if len(called) > 1:
        told = "; ".join(row.features for row in called)
        raise InputError(
            f"{len(called)} rows on {' '.join(place)} are {name!r}; give all of one row's name: "
            f"{told}"
        )
    return called[0] if called else None


def _unknown(rows: Sequence[Row], name: str) -> UnknownNameError:
    known = sorted({row.features for row in rows} | {n for row in rows for n in row.other_names})
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return UnknownNameError(f"no row is called {name!r}{hint} (known: {'; '.join(known)})")


def _place(row: Row) -> tuple[str, str]:
    return row.dataset, row.stream


def _rounded(value: float, digits: int) -> float:
    return round(value, digits) + 0.0  # no -0.00
