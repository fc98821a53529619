"""Rows of a table of results: one for each setting, and one for each floor beside it."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from scale.bench import Record
from scale.methods import METHODS
from scale.runs import RunConfig, recipe_params

MEASURES = (
    *("knn", "acc", "kmeans_acc", "nmi", "linear", "knn_full"),  # at the end of the stream
    *("average", "forgetting"),  # over the stream
)
PAPER_KNN = {
    ("cifar10", "seq", "scale"): 32.18,
    ("cifar10", "seq", "co2l"): 30.63,
    ("cifar10", "seq", "supcon"): 23.83,
    ("cifar10", "seq", "simclr"): 18.84,
    ("tinyimagenet10", "seq", "scale"): 31.33,
    ("tinyimagenet10", "seq", "co2l"): 30.80,
    ("tinyimagenet10", "seq", "supcon"): 15.67,
    ("tinyimagenet10", "seq", "simclr"): 18.13,
    ("cifar10", "seq-im", "scale"): 32.21,
    ("cifar100", "seq-im", "scale"): 23.16,
    ("tinyimagenet10", "seq-im", "scale"): 31.33,
}
"""The paper's own figures (its Tables 2 and 3), shown beside ours and never mixed with them."""
OF_THE_STREAM = (
    *("label", "image_size", "stream_batch", "samples_per_class", "class_order"),
    *("bank_size", "validation"),
)
"""Options of a run that decide what is learned from and what it is measured on."""
FLOOR = "floor: "
"""Begins the name of features measured within other runs, so that none is taken for a method."""


@dataclass(frozen=True)
class Row:
    """One line of a table: the same features on the same stream, over seeds."""

    dataset: str
    stream: str
    features: str
    seeds: int
    values: dict[str, list[float]]

    @property
    def is_floor(self) -> bool:
        """Whether it was measured beside a learner instead of being one."""
        return self.features.startswith(FLOOR)

    def cell(self, column: str) -> str:
        """Return mean +- standard deviation over the seeds, or nothing."""
        values = self.values.get(column, [])
        if not values:
            return ""
        digits = 0 if column == "memory" else 2
        if len(values) == 1 or column == "paper":
            return f"{values[0]:.{digits}f}"
        return f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


def make_rows(records: list[Record], cpu_time: bool) -> list[Row]:
    """Return the rows, best kNN first within each dataset and stream.

    Parameters
    ----------
    records
        What finished runs left.
    cpu_time
        Take the CPU's time, which old records lack, instead of the time on the wall.
    """
    rows, floors = [], dict[tuple[str, str], list[Row]]()
    for group in _by_setting(records):
        run, summaries = group[0]["run"], [record["summary"] for record in group]
        place = (run["dataset"], describe_stream(run))
        values = _measures(summaries) | _costs(summaries, cpu_time)
        # None for a stream or a memory that is not the paper's.
        as_usual = _policy(run) == _defaults(run).get("memory_policy")
        paper = PAPER_KNN.get((*place, run["method"])) if as_usual else None
        if paper is not None:
            values["paper"] = [paper]
        rows.append(Row(*place, describe_setting(run), len(group), values))
        if len(group) > (floors[place][0].seeds if floors.get(place) else 0):
            floors[place] = _floors(place, summaries)
    # A floor gives way to the method of the same name, which is a run of its own.
    runs = {(row.dataset, row.stream, FLOOR + row.features): row.seeds for row in rows}
    for floor in (row for beside in floors.values() for row in beside):
        if runs.get((floor.dataset, floor.stream, floor.features), 0) < floor.seeds:
            rows.append(floor)
    return sorted(rows, key=lambda row: (row.dataset, row.stream, -_mean(row.values.get("knn"))))


def describe_stream(run: dict[str, Any]) -> str:
    """Return the stream with what else was not as usual in data and evaluation.

    Examples
    --------
    >>> describe_stream({"stream": "seq", "samples_per_class": 1024, "validation": True})
    'seq, samples_per_class 1024, validation'
    """
    usual = RunConfig().to_json()
    changed = {key: run[key] for key in OF_THE_STREAM if run.get(key, usual[key]) != usual[key]}
    return _with(run["stream"], changed)


def describe_setting(run: dict[str, Any]) -> str:
    """Return the method with its preset, or with the parameters that are not its defaults."""
    method = METHODS[run["method"]]
    defaults = _defaults(run)
    changed = {k: v for k, v in run["params"].items() if k != "device" and v != defaults.get(k)}
    for name, preset in method.presets.items():
        if preset.items() <= changed.items():
            changed = {k: v for k, v in changed.items() if k not in preset}
            return _with(f"{method.name} [{name}]", changed)
    return _with(method.name, changed)


def _policy(run: dict[str, Any]) -> str | None:
    policy: str | None = run["params"].get("memory_policy", _defaults(run).get("memory_policy"))
    return policy


def _by_setting(records: list[Record]) -> list[list[Record]]:
    """Return the records in groups that differ in nothing but the seed, the last of each seed."""
    groups: dict[str, dict[int, Record]] = defaultdict(dict)
    for record in records:
        run = RunConfig(**record["run"]).to_json()  # options that are newer than the record
        run["params"] = {**_defaults(run), **run["params"]}  # and parameters that are
        setting = {k: v for k, v in run.items() if k not in ("seed", "threads")}
        groups[json.dumps(setting, sort_keys=True)][run["seed"]] = record
    return [list(group.values()) for group in groups.values()]


def _defaults(run: dict[str, Any]) -> dict[str, Any]:
    method = METHODS[run["method"]]
    params = method(**recipe_params(run["dataset"], method)).get_params()
    return {name: value for name, value in params.items() if name != "seed"}


def _floors(place: tuple[str, str], summaries: list[dict[str, Any]]) -> list[Row]:
    """Return what features that learn nothing reached beside a learner.

    They are called floors to tell them from the methods of the same names, which are runs.
    """
    rows = []
    for name in summaries[0].get("floors", {}):
        values = _measures([summary["floors"][name] for summary in summaries])
        rows.append(Row(*place, FLOOR + name, len(summaries), values))
    return rows


def _measures(summaries: list[dict[str, Any]]) -> dict[str, list[float]]:
    return {name: [s[name] for s in summaries] for name in MEASURES if name in summaries[0]}


def _costs(summaries: list[dict[str, Any]], cpu_time: bool) -> dict[str, list[float]]:
    timings = [summary["timing"] for summary in summaries]
    seconds = "cpu_seconds" if cpu_time else "wall_seconds"
    costs = {"time": [timing[seconds] / 60 for timing in timings]}
    if all("peak_memory_mb" in timing for timing in timings):
        costs["memory"] = [timing["peak_memory_mb"] for timing in timings]
    return costs


def _mean(values: list[float] | None) -> float:
    return statistics.mean(values) if values else float("-inf")


def _with(name: str, changed: dict[str, Any]) -> str:
    said = [key if value is True else f"{key} {value}" for key, value in changed.items()]
    return ", ".join([name, *said])
