"""Tables of finished runs: mean and standard deviation over seeds, floors beside the learners."""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from scale.methods import METHODS
from scale.report.records import Record
from scale.runs import RunConfig, recipe_params

MEASURES = {
    "knn": "kNN",
    "acc": "ACC",
    "kmeans_acc": "k-means ACC",
    "nmi": "NMI",
    "linear": "linear",
    "knn_full": "kNN, full bank",
    "average": "kNN over stream",
    "forgetting": "forgetting",
    "minutes": "minutes",
}
PAPER_KNN = {
    ("cifar10", "seq", "scale"): 32.18,
    ("tinyimagenet10", "seq", "scale"): 31.33,
    ("cifar10", "seq-im", "scale"): 32.21,
    ("cifar100", "seq-im", "scale"): 23.16,
    ("tinyimagenet10", "seq-im", "scale"): 31.33,
}
"""The paper's own figures (its Tables 2 and 3), shown beside ours and never mixed with them."""


@dataclass(frozen=True)
class Row:
    """One line of a table: the same features on the same stream, over seeds."""

    dataset: str
    stream: str
    features: str
    seeds: int
    values: dict[str, list[float]]
    paper: float | None = None

    def cell(self, measure: str) -> str:
        """Return mean +- standard deviation over the seeds, or nothing."""
        values = self.values.get(measure, [])
        if not values:
            return ""
        if len(values) == 1:
            return f"{values[0]:.2f}"
        return f"{statistics.mean(values):.2f} ± {statistics.stdev(values):.2f}"


def make_rows(records: list[Record]) -> list[Row]:
    """Return a row for each setting and for each floor beside it."""
    groups: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        run = RunConfig(**record["run"]).to_json()  # options that are newer than the record
        setting = {k: v for k, v in run.items() if k not in ("seed", "threads")}
        groups[json.dumps(setting, sort_keys=True)].append(record)
    rows, floors = [], dict[tuple[str, str], list[Row]]()
    for group in groups.values():
        run, summaries = group[0]["run"], [record["summary"] for record in group]
        place = (run["dataset"], run["stream"])
        label = describe_setting(run)
        paper = PAPER_KNN.get((*place, run["method"])) if not run["validation"] else None
        values = _collect(summaries)
        values["minutes"] = [s["timing"]["wall_seconds"] / 60 for s in summaries]
        rows.append(Row(*place, label, len(group), values, paper))
        beside = [
            Row(*place, name, len(group), _collect([s["floors"][name] for s in summaries]))
            for name in summaries[0].get("floors", {})
        ]
        if len(group) > (floors[place][0].seeds if place in floors else 0):
            floors[place] = beside
    rows += [row for beside in floors.values() for row in beside]
    return sorted(rows, key=lambda row: (row.dataset, row.stream))


def describe_setting(run: dict[str, Any]) -> str:
    """Return the method with its preset, or with the parameters that are not its defaults."""
    method = METHODS[run["method"]]
    defaults = method(**recipe_params(run["dataset"], method)).get_params()
    changed = {k: v for k, v in run["params"].items() if k != "device" and v != defaults[k]}
    for name, preset in method.presets.items():
        if preset.items() <= changed.items():
            changed = {k: v for k, v in changed.items() if k not in preset}
            return _with(f"{method.name} [{name}]", changed)
    return _with(method.name, changed)


def markdown(rows: list[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| " + " | ".join(header(rows)) + " |", "| --- " * len(header(rows)) + "|"]
    lines += ["| " + " | ".join(cells(row, rows)) + " |" for row in rows]
    return "\n".join(lines)


def header(rows: list[Row]) -> list[str]:
    """Return the columns' titles."""
    return [
        "dataset",
        "stream",
        "features",
        "seeds",
        *(MEASURES[m] for m in _shown(rows)),
        "paper's kNN",
    ]


def cells(row: Row, rows: list[Row]) -> list[str]:
    """Return a row's cells."""
    paper = "" if row.paper is None else f"{row.paper:.2f}"
    values = [row.cell(measure) for measure in _shown(rows)]
    return [row.dataset, row.stream, row.features, str(row.seeds), *values, paper]


def _shown(rows: list[Row]) -> list[str]:
    return [m for m in MEASURES if any(m in row.values for row in rows)]


def _collect(measures: list[dict[str, Any]]) -> dict[str, list[float]]:
    return {name: [m[name] for m in measures] for name in MEASURES if name in measures[0]}


def _with(name: str, changed: dict[str, Any]) -> str:
    return name + "".join(f", {key} {value}" for key, value in changed.items())
