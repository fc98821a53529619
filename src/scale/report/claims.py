"""What the paper says, held against our records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from scale._errors import InputError
from scale.report.paired import Difference, find_row, mean_interval, paired_difference
from scale.report.rows import Row
from scale.report.table import COLUMNS

Verdict = Literal["agrees", "undecided", "does not agree"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
BOUNDS = ("at_least", "at_most")
FIELDS = {
    *("says", "ours", "dataset", "stream", "better", "than", "on", "by", "measure", "why"),
    *BOUNDS,
}
LEVEL_WIDTH = 5.0  # points to either side of our mean


@dataclass(frozen=True)
class Claim:
    """That one row is better than others or than a bound, and what to think of it when it is not.

    Examples
    --------
    >>> claim = Claim.parse({"says": "replay helps", "better": "er", "than": ["simclr"]}, "notes")
    >>> claim.measure
    'knn'
    """

    says: str
    """The claim in words, with where the paper makes it."""
    better: str
    than: tuple[str, ...] = ()
    at_least: float | None = None
    """A value that it reaches."""
    at_most: float | None = None
    """A value that it does not exceed."""
    ours: bool = False
    """Whether it is ours and not the paper's."""
    by: float = 0.0
    """How much better at least, in points."""
    measure: str = "knn"
    dataset: str | None = None
    """Only there; wherever both rows are when not given."""
    stream: str | None = None
    on: str | None = None
    """The stream that the others are on; the same when not given."""
    why: str = ""
    """The most likely reason if ours does not agree."""

    @staticmethod
    def parse(given: Mapping[str, Any], where: str) -> Claim:
        """Make a claim from a table of a notes file."""
        unknown = sorted(set(given) - FIELDS)
        if unknown:
            raise InputError(f"{where}: a claim has no {unknown[0]!r} (known: {_list(FIELDS)})")
        for name in ("says", "better"):
            if not given.get(name):
                raise InputError(f"{where}: a claim needs {name!r}")
        if not given.get("than") and not any(bound in given for bound in BOUNDS):
            raise InputError(f"{where}: a claim needs 'than', 'at_least' or 'at_most'")
        for name in ("by", *BOUNDS):
            if not isinstance(given.get(name, 0.0), int | float):
                raise InputError(
                    f"{where}: {name} of a claim is {given[name]!r}; expected a number"
                )
        if not isinstance(given.get("than", []), list):
            raise InputError(f"{where}: than of a claim is {given['than']!r}; expected a list")
        if given.get("measure", "knn") not in COLUMNS:
            known = ", ".join(COLUMNS)
            raise InputError(f"{where}: there is no measure {given['measure']!r} (known: {known})")
        return Claim(**{**given, "than": tuple(given.get("than", ()))})


@dataclass(frozen=True)
class Finding:
    """What the records say to a claim, or to a value of the paper's."""

    claim: str
    where: str
    """Dataset and stream."""
    measured: str
    """What it is compared with, and the difference; or our own value."""
    verdict: Verdict
    why: str = ""
    of_paper: bool = True


def check_claim(claim: Claim, rows: Sequence[Row]) -> list[Finding]:
    """Return a finding for each dataset, stream and other row that the records allow to compare.

    It agrees when the whole 95 % interval of the paired difference is above `by`, does not agree
    when all of it is not, and is undecided when it is partly, or when there is one seed only.
    A bound is held against the interval of the mean in the same way.
    """
    findings: list[Finding] = []
    says = claim.says if claim.measure == "knn" else f"{claim.says}, by {COLUMNS[claim.measure]}"
    for place in dict.fromkeys((row.dataset, row.stream) for row in rows):
        kind, *unusual = place[1].split(", ")
        if claim.dataset not in (None, place[0]) or claim.stream not in (None, place[1], kind):
            continue
        first = find_row(rows, place, claim.better)
        findings += _check_bounds(claim, says, first)
        beside = (place[0], ", ".join([claim.on or kind, *unusual]))
        for name in claim.than:
            difference = _difference(first, find_row(rows, beside, name), claim.measure)
            if difference is None:
                continue
            other = name if claim.on is None else f"{name} on {claim.on}"
            measured = f"{other} {difference.text()}"
            if difference.interval is None:
                measured += " (one seed)"
            verdict, of_paper = _judge(difference.interval, claim.by), not claim.ours
            findings.append(Finding(says, " ".join(place), measured, verdict, claim.why, of_paper))
    return findings


def _check_bounds(claim: Claim, says: str, row: Row | None) -> list[Finding]:
    values = [] if row is None else row.values.get(claim.measure, [])
    if row is None or not values:
        return []
    where, interval = f"{row.dataset} {row.stream}", mean_interval(values)
    findings = []
    for bound, sign, words in ((claim.at_least, 1, "at least"), (claim.at_most, -1, "at most")):
        if bound is None:
            continue
        spread = " (one seed)" if interval is None else f" [{interval[0]:.2f}, {interval[1]:.2f}]"
        measured = f"{words} {bound:g}: {row.cell(claim.measure)}{spread}"
        beyond = None if interval is None else sorted(sign * (end - bound) for end in interval)
        verdict = _judge(beyond, by=0.0)
        findings.append(Finding(says, where, measured, verdict, claim.why, not claim.ours))
    return findings


def check_levels(rows: Sequence[Row], why: str = "") -> list[Finding]:
    """Return a finding for each row with a value of the paper's: is it within our interval?

    An interval that reaches further than `LEVEL_WIDTH` would hold almost any value, and leaves it
    undecided.
    """
    findings = []
    for row in rows:
        values = list(row.measured.get("knn", {}).values())
        if row.paper is None or not values:
            continue
        claim, where = f"kNN {row.paper:.2f}: {row.features}", f"{row.dataset} {row.stream}"
        level = mean_interval(values)
        if level is None:
            findings.append(Finding(claim, where, f"{values[0]:.2f} (one seed)", "undecided", why))
            continue
        low, high = level
        verdict: Verdict = "agrees" if low <= row.paper <= high else "does not agree"
        if verdict == "agrees" and high - low > 2 * LEVEL_WIDTH:
            verdict = "undecided"
        measured = f"{row.cell('knn')} [{low:.2f}, {high:.2f}]"
        findings.append(Finding(claim, where, measured, verdict, why))
    return findings


def _difference(first: Row | None, other: Row | None, measure: str) -> Difference | None:
    if first is None or other is None or first is other:
        return None
    return paired_difference(first.measured.get(measure, {}), other.measured.get(measure, {}))


def _judge(interval: Sequence[float] | None, by: float) -> Verdict:
    if interval is None:
        return "undecided"
    low, high = interval
    if low > by:
        return "agrees"
    return "does not agree" if high <= by else "undecided"


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names))
