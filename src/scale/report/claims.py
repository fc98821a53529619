"""Claims of the paper and ours, and their verdicts from the records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import msgspec

from scale._names import did_you_mean
from scale.evaluate import MEASURES
from scale.report.groups import Group
from scale.report.paired import (
    find_group,
    find_pair,
    mean_interval,
    p_value,
    paired_difference,
    paired_values,
)

Verdict = Literal["confirmed", "undecided", "refuted"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
LEVEL_WIDTH = 5.0  # points to either side of our mean
FEW_SEEDS = {1: " (one seed)", 2: " (2 seeds: a very wide interval)"}


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A claim that one row is better than others, or reaches a bound."""

    says: str
    """The claim in words, with its place in the paper."""
    better: str
    """The row that the claim is about."""
    than: list[str] = []
    """The rows to compare it with."""
    at_least: float | None = None
    """Lower bound of the measure."""
    at_most: float | None = None
    """Upper bound of the measure."""
    ours: bool = False
    """Whether the claim is ours, not the paper's."""
    by: float = 0.0
    """Least difference, in points."""
    measure: str = "knn"
    dataset: str | None = None
    """Only this dataset. The default is every dataset with both rows."""
    stream: str | None = None
    on: str | None = None
    """The stream of the other rows. The default is the same stream."""
    why: str = ""
    """The most likely reason if it is not confirmed."""

    def __post_init__(self) -> None:
        if not self.than and self.at_least is None and self.at_most is None:
            raise ValueError("a claim needs 'than', 'at_least' or 'at_most'")
        if self.measure not in MEASURES:
            hint = did_you_mean(self.measure, MEASURES)
            raise ValueError(
                f"there is no measure {self.measure!r}{hint} (known: {', '.join(MEASURES)})"
            )

    @property
    def text(self) -> str:
        """Return the claim, with its measure unless that is kNN."""
        return (
            self.says if self.measure == "knn" else f"{self.says} ({MEASURES[self.measure].title})"
        )


@dataclass(frozen=True)
class Finding:
    """One comparison that tests a claim, on one dataset and stream."""

    claim: str
    where: str
    """Dataset and stream."""
    other: str
    """The other row, or the bound."""
    ours: str
    """Our difference or value, with its interval."""
    verdict: Verdict
    paper: str = ""
    """The paper's difference, if it reports both values."""
    why: str = ""
    of_paper: bool = True
    is_value: bool = False
    """Whether it compares a value of the paper with our mean."""
    p: float | None = None
    """p-value of the comparison; None for one seed and for values of the paper."""
    code_known: bool = False
    row: str = ""
    """Name of the row that the claim is about."""


def check_claim(claim: Claim, groups: Sequence[Group]) -> list[Finding]:
    """Return a finding for each dataset, stream and other row that the records can compare.

    Confirmed: the 95 % interval of the paired difference is above `by`. Refuted: it is at or
    below. Otherwise undecided, and always with one seed. A bound is compared with the interval of
    the mean in the same way. Rows of known code are preferred. A row of known code is never
    compared with one of unknown code.
    """
    findings: list[Finding] = []
    for place in dict.fromkeys(group.place for group in groups):
        kind, *special = place[1].split(", ")
        if claim.dataset not in (None, place[0]) or claim.stream not in (None, place[1], kind):
            continue
        findings += _check_bounds(claim, find_group(groups, place, claim.better))
        beside = (place[0], ", ".join([claim.on or kind, *special]))
        for name in claim.than:
            first, other = find_pair(groups, (place, claim.better), (beside, name))
            if first is not None and other is not None and first is not other:
                findings += _compare(claim, first, other)
    return findings


def check_levels(groups: Sequence[Group], why: str = "") -> list[Finding]:
    """Return a finding for each row with a value of the paper.

    Refuted: the value is outside our interval. Confirmed: it is inside. Undecided: there is one
    seed, or it is inside an interval of more than `LEVEL_WIDTH` points to either side.
    """
    findings = []
    for group in groups:
        values = group.values("knn")
        latest = find_group(groups, group.place, group.base)
        if group.paper is None or not values or group is not latest:
            continue
        level = mean_interval(values)
        verdict: Verdict = "undecided"
        if level is not None and not level[0] <= group.paper <= level[1]:
            verdict = "refuted"
        elif level is not None and level[1] - level[0] <= 2 * LEVEL_WIDTH:
            verdict = "confirmed"
        findings.append(
            Finding(
                f"kNN of {group.name}",
                " ".join(group.place),
                f"{group.paper:.2f}",
                group.cell("knn") + _interval(level, len(values)),
                verdict,
                why=why,
                is_value=True,
                code_known=bool(group.code),
                row=group.name,
            )
        )
    return findings


def overall(findings: Sequence[Finding]) -> Verdict:
    """Return the verdict of a claim that several comparisons test.

    Refuted if one comparison is. Confirmed if all are. Otherwise undecided.
    """
    verdicts = {finding.verdict for finding in findings}
    if "refuted" in verdicts:
        return "refuted"
    return "confirmed" if verdicts == {"confirmed"} else "undecided"


def _compare(claim: Claim, first: Group, other: Group) -> list[Finding]:
    values, others = (group.measured.get(claim.measure, {}) for group in (first, other))
    difference = paired_difference(values, others)
    if difference is None:
        return []
    shown = difference.text() + FEW_SEEDS.get(difference.pairs, "")
    name = other.base if claim.on is None else f"{other.base} on {claim.on}"
    margin = f", by {claim.by:g}" if claim.by else ""
    paper = ""
    if claim.measure == "knn" and first.paper is not None and other.paper is not None:
        paper = f"{first.paper - other.paper:+.2f}"
    return [
        Finding(
            claim.text,
            " ".join(first.place),
            name + margin,
            shown,
            _judge(difference.interval, claim.by),
            paper,
            claim.why,
            not claim.ours,
            p=p_value(paired_values(values, others), claim.by),
            code_known=bool(first.code),
            row=first.name,
        )
    ]


def _check_bounds(claim: Claim, group: Group | None) -> list[Finding]:
    values = [] if group is None else group.values(claim.measure)
    if group is None or not values:
        return []
    interval, findings = mean_interval(values), []
    for bound, sign, words in ((claim.at_least, 1, "at least"), (claim.at_most, -1, "at most")):
        if bound is None:
            continue
        beyond = None if interval is None else sorted(sign * (end - bound) for end in interval)
        findings.append(
            Finding(
                claim.text,
                " ".join(group.place),
                f"{words} {bound:g}",
                group.cell(claim.measure) + _interval(interval, len(values)),
                _judge(beyond, by=0.0),
                why=claim.why,
                of_paper=not claim.ours,
                p=p_value(values, bound),
                code_known=bool(group.code),
                row=group.name,
            )
        )
    return findings


def _judge(interval: Sequence[float] | None, by: float) -> Verdict:
    if interval is None:
        return "undecided"
    low, high = interval
    if low > by:
        return "confirmed"
    return "refuted" if high <= by else "undecided"


def _interval(interval: tuple[float, float] | None, seeds: int) -> str:
    shown = "" if interval is None else f" [{interval[0]:.2f}, {interval[1]:.2f}]"
    return shown + FEW_SEEDS.get(seeds, "")
