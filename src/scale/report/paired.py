"""Differences between two groups, paired over the seeds that both have."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scale._errors import InputError, UnknownNameError
from scale._names import did_you_mean
from scale.report.groups import Group, Place

LEVEL = 0.95
TWO_SEEDS = "2 seeds: intervals are very wide; use --seeds 3 or more."


@dataclass(frozen=True)
class Difference:
    """The mean difference of two groups over seeds."""

    mean: float
    interval: tuple[float, float] | None
    """Student's 95 % confidence interval of the mean; a single pair has none."""
    pairs: int

    def text(self, digits: int = 2) -> str:
        """Return the difference as text, with its interval.

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


def paired_values(values: Mapping[int, float], others: Mapping[int, float]) -> list[float]:
    """Return values minus others over their common seeds."""
    return [values[seed] - others[seed] for seed in values if seed in others]


def paired_difference(
    values: Mapping[int, float], others: Mapping[int, float]
) -> Difference | None:
    """Return values minus others over their common seeds; None without common seeds.

    Parameters
    ----------
    values, others
        A measure by seed.

    Examples
    --------
    >>> paired_difference({0: 5.0, 1: 7.0}, {1: 4.0, 2: 9.0})
    Difference(mean=3.0, interval=None, pairs=1)
    """
    found = paired_values(values, others)
    if not found:
        return None
    return Difference(statistics.mean(found), mean_interval(found), len(found))


def mean_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return Student's 95 % confidence interval of a mean; None for a single value.

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


def p_value(values: Sequence[float], bound: float = 0.0) -> float | None:
    """Return the two-sided p-value of Student's test that the mean is `bound`.

    Examples
    --------
    >>> round(p_value([1.0, 2.0, 3.0]), 4), p_value([1.0])
    (0.0742, None)
    """
    n = len(values)
    if n < 2:
        return None
    from scipy.stats import t

    distance, spread = abs(statistics.mean(values) - bound), statistics.stdev(values)
    if spread == 0:
        return 0.0 if distance else 1.0
    return float(2 * t.sf(distance / (spread / n**0.5), n - 1))


def holm(p_values: Sequence[float], level: float = 1 - LEVEL) -> list[bool]:
    """Return which hypotheses Holm's correction rejects at a family-wise error of `level`.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [True, False, False]
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    rejected = [False] * len(p_values)
    for rank, i in enumerate(order):
        if p_values[i] > level / (len(p_values) - rank):
            break
        rejected[i] = True
    return rejected


def differences_against(
    groups: Sequence[Group], name: str, measure: str
) -> list[Difference | None]:
    """Return the difference of each group to the one called `name` on the same stream.

    Parameters
    ----------
    groups
        Rows of a table.
    name
        A row's full name; or its variant, method or floor, if only one row has it.
    measure
        Measure to compare.

    Returns
    -------
    differences
        None for the row itself, for rows without common seeds, and on streams without that row.
    """
    places = {group.place for group in groups}
    if not any(find_group(groups, place, name) for place in places):
        raise _unknown(groups, name)
    found: list[Difference | None] = []
    for group in groups:
        alike = [other for other in groups if bool(other.code) is bool(group.code)]
        other = find_group(alike, group.place, name) or find_group(groups, group.place, name)
        if other is None or other is group:
            found.append(None)
        else:
            values, others = (each.measured.get(measure, {}) for each in (group, other))
            found.append(paired_difference(values, others))
    return found


def find_group(groups: Sequence[Group], place: Place, name: str) -> Group | None:
    """Return the group called `name` on a dataset and stream, or None.

    If groups differ only in the code, the last one of known code is returned. If groups of
    different settings have the name, and it is not the full name of one, raise `InputError`.
    """
    here = [group for group in groups if group.place == place]
    called = [group for group in here if group.name == name]
    called = called or [group for group in here if group.base == name]
    called = called or [group for group in here if name in group.other_names]
    if len({group.base for group in called}) > 1:
        names = "; ".join(group.name for group in called)
        raise InputError(
            f"{len(called)} rows on {' '.join(place)} are {name!r}; give all of one row's name: "
            f"{names}"
        )
    return max(reversed(called), key=lambda group: bool(group.code), default=None)


def find_pair(
    groups: Sequence[Group], first: tuple[Place, str], other: tuple[Place, str]
) -> tuple[Group | None, Group | None]:
    """Return two groups by place and name, both of known code if possible, else both of unknown."""
    for known in (True, False):
        of_code = [group for group in groups if bool(group.code) is known]
        found = find_group(of_code, *first), find_group(of_code, *other)
        if all(found):
            return found
    return None, None


def _unknown(groups: Sequence[Group], name: str) -> UnknownNameError:
    known = sorted({n for group in groups for n in (group.name, *group.other_names)})
    hint = did_you_mean(name, known)
    return UnknownNameError(f"no row is called {name!r}{hint} (known: {'; '.join(known)})")


def _rounded(value: float, digits: int) -> float:
    return round(value, digits) + 0.0  # no -0.00
