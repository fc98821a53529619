"""The comparison of several runs: a table with intervals, and curves and classes by row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scale.bench import Record
from scale.bench.records import read_run
from scale.evaluate.measures import MEASURES
from scale.report.groups import Group, floors_of, make_groups
from scale.report.names import dataset_title
from scale.report.page.series import rounded
from scale.report.paired import mean_interval

SHOWN = ("knn", "linear", "acc", "average", "forgetting", "time", "memory")


def comparison(folders: Sequence[Path]) -> dict[str, Any]:
    """Return rows of finished runs over seeds, and of the floors beside them.

    A row has measures with 95 % intervals; that of runs also a curve and classes.
    """
    records = [read_run(folder) for folder in folders if (folder / "summary.json").is_file()]
    groups = make_groups(records) if records else []
    shown = [name for name in SHOWN if any(group.values(name) for group in groups)]
    return {
        "unfinished": len(folders) - len(records),
        "columns": {
            name: {
                "title": MEASURES[name].title,
                "unit": MEASURES[name].unit,
                "digits": MEASURES[name].digits,
            }
            for name in shown
        },
        "rows": [_row(group, shown) for group in (*groups, *floors_of(groups))],
    }


def _row(group: Group, names: list[str]) -> dict[str, Any]:
    return {
        "place": f"{group.dataset} {group.stream}",
        "title": f"{dataset_title(group.dataset)} {group.stream}",
        "name": group.name,
        "floor": group.is_floor,
        "seeds": group.seeds,
        "values": {name: _value(group, name) for name in names},
        "curve": _curve(list(group.records.values())),
        "perClass": _per_class(list(group.records.values())),
        "classes": _classes(group),
    }


def _classes(group: Group) -> list[str]:
    for record in group.records.values():
        names: list[str] = record.get("data", {}).get("class_names", [])
        return names
    return []


def _value(group: Group, name: str) -> dict[str, Any] | None:
    values = group.values(name)
    if not values:
        return None
    interval = mean_interval(values)
    if interval is not None and MEASURES[name].unit == "%":  # no share is beyond these
        interval = max(interval[0], 0.0), min(interval[1], 100.0)
    return {
        "mean": float(np.mean(values)),
        "low": None if interval is None else interval[0],
        "high": None if interval is None else interval[1],
    }


def _curve(records: Sequence[Record]) -> dict[str, Any] | None:
    """Return the mean kNN over seeds at the positions that all have."""
    curves = [record.get("curve") for record in records]
    found = [curve for curve in curves if isinstance(curve, dict) and curve.get("knn")]
    if not found or any(curve["position"] != found[0]["position"] for curve in found):
        return None
    knn = np.mean([curve["knn"] for curve in found], 0)
    return {"position": found[0]["position"], "knn": [rounded(float(value)) for value in knn]}


def _per_class(records: Sequence[Record]) -> list[float | None]:
    rows = [record["summary"].get("knn_per_class") for record in records]
    rows = [row for row in rows if row]
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        return []
    return [rounded(float(value), 4) for value in np.mean(rows, 0)]
