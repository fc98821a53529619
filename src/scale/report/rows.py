"""Rows of a table of results: one for each setting, and one for each floor beside it."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from scale.bench import Record
from scale.report.naming import (
    complete,
    describe_setting,
    describe_stream,
    name_settings,
    of_one_experiment,
    same_text,
)
from scale.report.paper import paper_key, paper_knn

__all__ = ["FLOOR", "MEASURES", "Row", "describe_setting", "describe_stream", "make_rows"]

MEASURES = (
    *("knn", "acc", "kmeans_acc", "nmi", "linear", "knn_full"),  # at the end of the stream
    *("average", "least", "forgetting", "forgetting_seen", "drop"),  # over the stream
)
EARLY = 0.1
"""So much of the stream may pass before an evaluation counts for `least`."""
FLOOR = "floor: "
"""Begins the name of features measured within other runs, so that none is taken for a method."""
BySeed = dict[int, Record]


@dataclass(frozen=True)
class Row:
    """One line of a table: the same features on the same stream, over seeds."""

    dataset: str
    stream: str
    features: str
    """Its name, which no other row of the dataset and stream has."""
    seeds: int
    measured: dict[str, dict[int, float]]
    """What was measured, by column and seed."""
    paper: float | None = None
    """The paper's own kNN, never mixed with ours."""
    other_names: frozenset[str] = frozenset()
    """What else it may be called: its method, its variant in an experiment, its floor."""

    @property
    def is_floor(self) -> bool:
        """Whether it was measured beside a learner instead of being one."""
        return self.features.startswith(FLOOR)

    @property
    def values(self) -> dict[str, list[float]]:
        """Return what was measured, by column."""
        return {name: list(by_seed.values()) for name, by_seed in self.measured.items()}

    def cell(self, column: str) -> str:
        """Return mean +- standard deviation over the seeds, or nothing."""
        values = self.values.get(column, [])
        if column == "paper":
            return "" if self.paper is None else f"{self.paper:.2f}"
        if not values:
            return ""
        digits = digits_of(column)
        if len(values) == 1:
            return f"{values[0]:.{digits}f}"
        return f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


def digits_of(column: str) -> int:
    """Return how many decimals are shown."""
    return 0 if column == "memory" else 2


def make_rows(records: list[Record], cpu_time: bool) -> list[Row]:
    """Return the rows, best kNN first within each dataset and stream.

    Parameters
    ----------
    records
        What finished runs left.
    cpu_time
        Take the CPU's time, which old records lack, instead of the time on the wall.
    """
    by_variant = of_one_experiment(records)
    groups = _by_setting(records, by_variant)
    paper = paper_knn(record["run"]["dataset"] for record in records)
    names = name_settings([_any_of(group) for group in groups], by_variant)
    rows, floors = [], dict[tuple[str, str], list[Row]]()
    runs_of_their_own: dict[tuple[str, str, str], int] = {}
    for group, name in zip(groups, names, strict=True):
        run = complete(_any_of(group)["run"])
        place = (run["dataset"], describe_stream(run))
        summaries = {seed: _summary(record) for seed, record in group.items()}
        measured = _measures(summaries) | _costs(summaries, cpu_time)
        known = paper.get(paper_key(run))
        rows.append(Row(*place, name, len(group), measured, known, _other_names(group)))
        own = (*place, FLOOR + describe_setting(run))
        runs_of_their_own[own] = max(len(group), runs_of_their_own.get(own, 0))
        if len(group) > (floors[place][0].seeds if floors.get(place) else 0):
            floors[place] = _floors(place, summaries)
    for floor in (row for beside in floors.values() for row in beside):
        # A floor gives way to the method of the same name, which is a run of its own.
        if runs_of_their_own.get((floor.dataset, floor.stream, floor.features), 0) < floor.seeds:
            rows.append(floor)
    return sorted(rows, key=lambda row: (row.dataset, row.stream, -_mean(row.values.get("knn"))))


def _by_setting(records: list[Record], by_variant: bool) -> list[BySeed]:
    """Return the records in groups that differ in nothing but the seed, the last of each seed."""
    groups: dict[str, BySeed] = defaultdict(dict)
    for record in records:
        run = complete(record["run"])
        setting = {k: v for k, v in run.items() if k not in ("seed", "threads")}
        variant = record.get("variant") if by_variant else None
        groups[same_text([variant, setting])][run["seed"]] = record
    return list(groups.values())


def _summary(record: Record) -> dict[str, Any]:
    """Return a run's summary with the lowest kNN of its evaluations but the earliest."""
    curve = record.get("curve", {})
    positions = curve.get("position", [0])
    later = [
        knn
        for knn, at in zip(curve.get("knn", []), positions, strict=False)
        if at >= EARLY * positions[-1]
    ]
    least = {"least": min(later)} if later else {}
    return {**record["summary"], **least}


def _any_of(group: BySeed) -> Record:
    return next(iter(group.values()))


def _other_names(group: BySeed) -> frozenset[str]:
    variants = {record["variant"] for record in group.values() if record.get("variant")}
    return frozenset({_any_of(group)["run"]["method"], *variants})


def _floors(place: tuple[str, str], summaries: Mapping[int, dict[str, Any]]) -> list[Row]:
    """Return what features that learn nothing reached beside a learner.

    They are called floors to tell them from the methods of the same names, which are runs.
    """
    floors = {seed: summary.get("floors", {}) for seed, summary in summaries.items()}
    rows = []
    for name in dict.fromkeys(name for found in floors.values() for name in found):
        beside = {seed: found[name] for seed, found in floors.items() if name in found}
        measured = _measures(beside)
        if "knn" in measured:  # the same at every moment
            measured |= {"average": measured["knn"], "least": measured["knn"]}
        rows.append(Row(*place, FLOOR + name, len(beside), measured, None, frozenset({name})))
    return rows


def _measures(summaries: Mapping[int, dict[str, Any]]) -> dict[str, dict[int, float]]:
    found = {
        name: {seed: s[name] for seed, s in summaries.items() if s.get(name) is not None}
        for name in MEASURES
    }
    return {name: by_seed for name, by_seed in found.items() if by_seed}


def _costs(summaries: Mapping[int, dict[str, Any]], cpu_time: bool) -> dict[str, dict[int, float]]:
    timings = {seed: summary["timing"] for seed, summary in summaries.items()}
    seconds = "cpu_seconds" if cpu_time else "wall_seconds"
    costs = {"time": {seed: timing[seconds] / 60 for seed, timing in timings.items()}}
    if all("peak_memory_mb" in timing for timing in timings.values()):
        costs["memory"] = {seed: timing["peak_memory_mb"] for seed, timing in timings.items()}
    return costs


def _mean(values: list[float] | None) -> float:
    return statistics.mean(values) if values else float("-inf")
