"""Records that differ in nothing but the seed, with short names that tell them from each other."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scale._errors import InputError, UnknownNameError
from scale.bench import Experiment, Record
from scale.methods import METHODS
from scale.report.naming import (
    OF_THE_STREAM,
    complete,
    defaults_of,
    describe_stream,
    filled,
    same_text,
    tell_changes,
)
from scale.runs import RunConfig

MEASURES = {
    "knn": "kNN accuracy (%)",
    "acc": "ACC (%)",
    "kmeans_acc": "k-means ACC (%)",
    "nmi": "NMI (%)",
    "ari": "ARI (%)",
    "linear": "linear probe (%)",
    "knn_full": "kNN, full bank (%)",
    "average": "kNN over stream (%)",
    "forgetting": "forgetting (points)",
    "forgetting_seen": "forgetting once seen (points)",
    "drop": "drop in kNN (points)",
    "effective_rank": "effective rank",
}
"""What can be drawn of a run, and what its axis is called."""
METHOD_ORDER = (
    *("scale-plus", "scale", "simclr", "pnn", "si", "der", "cassle", "stam", "lump", "co2l"),
    *("er", "minred"),
    *("cla", "cla-r", "osiris-r", "climb", "supcon", "random", "pixels", "pca", "patches"),
)
REFERENCE = "supcon"
"""Learns from labels: no competitor of the others, and drawn apart from them."""
STREAM_ORDER = ("iid", "seq", "seq-bl", "seq-im", "seq-cc")
NOT_A_SETTING = ("seed", "threads", "device", "params", "on_bad", "evaluations")
PLACE = ("dataset", "stream", "method")


@dataclass(frozen=True)
class Group:
    """One bar, line or cell: the same setting over seeds."""

    panel: str
    """The dataset, with what is not as usual in all runs on it."""
    stream: str
    name: str
    """The variant or method, with the settings in which others of that name differ."""
    settings: dict[str, Any]
    records: list[Record]

    @property
    def dataset(self) -> str:
        """Return the dataset's name."""
        return str(self.settings["dataset"])

    @property
    def place(self) -> str:
        """Return dataset and stream, then what is not as usual.

        Examples
        --------
        >>> Group("mnist, validation", "seq", "scale", {}, []).place
        'mnist, seq, validation'
        """
        dataset, *unusual = self.panel.split(", ")
        return ", ".join([dataset, self.stream, *unusual])

    @property
    def sees_labels(self) -> bool:
        """Whether its method learns from labels, and so is a reference and no competitor."""
        method = self.settings["method"]
        return method in METHODS and METHODS[method].knows.labels

    def values(self, measure: str) -> list[float]:
        """Return the measure of each seed."""
        found = (record["summary"].get(measure) for record in self.records)
        return [float(value) for value in found if value is not None]

    def floors(self, measure: str) -> dict[str, float]:
        """Return what features that learn nothing reached on average."""
        floors = [record["summary"].get("floors", {}) for record in self.records]
        names = [name for name in floors[0] if all(measure in f.get(name, {}) for f in floors)]
        return {name: float(np.mean([f[name][measure] for f in floors])) for name in names}


def make_groups(
    records: Sequence[Record], experiment: Experiment | None, apart: Sequence[str] = ()
) -> list[Group]:
    """Group records by everything but the seed, in the order in which they are drawn.

    Parameters
    ----------
    records
        Of runs.
    experiment
        Gives the order of its methods, variants, datasets and streams.
    apart
        Settings that have an axis of their own, and so are no part of a name.
    """
    by_setting: dict[str, dict[int, Record]] = defaultdict(dict)
    for record in records:
        key = same_text([record.get("variant", ""), _flat(complete(record["run"]))])
        by_setting[key][record["run"]["seed"]] = record
    seeds = [[found[seed] for seed in sorted(found)] for found in by_setting.values()]
    names = _names(seeds, apart)
    places = _places([group[0] for group in seeds], apart)
    groups = [
        Group(panel, stream, name, settings_of(group[0]), group)
        for (panel, stream), name, group in zip(places, names, seeds, strict=True)
    ]
    return sorted(groups, key=lambda group: _rank(group, experiment))


def settings_of(record: Record) -> dict[str, Any]:
    """Return all that decides what a run learns, by name; its method's defaults filled in."""
    return _flat(filled(record["run"]))


def _flat(run: dict[str, Any]) -> dict[str, Any]:
    found = {**run, **run["params"]}
    return {name: value for name, value in found.items() if name not in NOT_A_SETTING}


def check_measure(measure: str, groups: Sequence[Group]) -> str:
    """Return what the measure's axis is called; raises when nothing is known of it."""
    if measure not in MEASURES:
        raise UnknownNameError(f"no measure is called {measure!r} (known: {', '.join(MEASURES)})")
    if not any(group.values(measure) for group in groups):
        raise InputError(f"no record tells {measure}; was the run evaluated?")
    return MEASURES[measure]


def _names(seeds: list[list[Record]], apart: Sequence[str]) -> list[str]:
    """Return for each group its variant or method and, where several share that, what differs.

    Of what differs only that is told which is not the method's default.
    """
    alike: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    keys = [_short(group[0]) for group in seeds]
    for key, group in zip(keys, seeds, strict=True):
        alike[key].append(settings_of(group[0]))
    names = []
    for key, group in zip(keys, seeds, strict=True):
        own = settings_of(group[0])
        default = {**RunConfig().to_json(), **defaults_of(group[0]["run"])}
        hidden = {*apart, *PLACE, *OF_THE_STREAM}  # what belongs to the stream is told there
        differing = _differing(alike[key]) - hidden
        changed = {k: own[k] for k in own if k in differing and own[k] != default.get(k)}
        names.append(tell_changes(key[1], own["method"], own, changed))
    return names


def _short(record: Record) -> tuple[str, str]:
    return record["run"]["dataset"], record.get("variant") or record["run"]["method"]


def _differing(settings: list[dict[str, Any]]) -> set[str]:
    names = {name for each in settings for name in each}
    return {n for n in names if len({same_text(each.get(n)) for each in settings}) > 1}


def _places(records: list[Record], apart: Sequence[str]) -> list[tuple[str, str]]:
    """Return panel and stream of each; what all runs on a dataset share is told in the panel."""
    extras, datasets = [], []
    for record in records:
        run = {name: value for name, value in record["run"].items() if name not in apart}
        extras.append(describe_stream(run).removeprefix(run["stream"]))
        datasets.append(run["dataset"])
    places = []
    for record, extra, dataset in zip(records, extras, datasets, strict=True):
        shared = len({e for e, d in zip(extras, datasets, strict=True) if d == dataset}) == 1
        title, stream = Path(dataset).name, record["run"]["stream"]
        places.append((title + extra, stream) if shared else (title, stream + extra))
    return places


def _rank(group: Group, experiment: Experiment | None) -> tuple[Any, ...]:
    axes = experiment.axes if experiment else {}
    variants = list(experiment.variants) if experiment else []
    variant = group.records[0].get("variant", "")
    return (
        *_place_in([*axes.get("dataset", [])], group.dataset),
        *_place_in(STREAM_ORDER, group.settings["stream"]),
        group.stream,
        *_place_in(variants, variant),
        *_place_in([*axes.get("method", []), *METHOD_ORDER], group.settings["method"]),
        _natural(group.name),
    )


def _natural(text: str) -> list[str | float]:
    """Return a key that sorts by the numbers in a text, not by their digits."""
    parts = re.split(r"(\d+\.?\d*)", text)  # text and numbers take turns
    return [float(part) if i % 2 else part for i, part in enumerate(parts)]


def _place_in(order: Sequence[str], name: str) -> tuple[int, str]:
    return (list(order).index(name), "") if name in order else (len(order), name)
