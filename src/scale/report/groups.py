"""Groups of records that differ only in the seed, with one name for tables and figures."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from scale.bench import Record
from scale.evaluate.measures import EARLY, FLOORS, MEASURES
from scale.methods import METHODS
from scale.report.names import (
    NOT_RECORDED,
    Settings,
    added,
    changed,
    code_of,
    defaults,
    describe_stream,
    differing,
    not_recorded,
    same_text,
    settings_of,
    tell_changes,
    with_settings,
)
from scale.report.paper import paper_value

FLOOR = "floor: "
"""Prefix of the names of floors, which every run measures."""
SAME_AS_METHOD = ("frozen", "random", "pixels")
"""Floors whose method of the same name computes the same features."""
Place = tuple[str, str]


@dataclass(frozen=True)
class Group:
    """One row, bar, line or cell: the same features on the same stream, over seeds."""

    dataset: str
    stream: str
    """The stream, with the options of data and evaluation that differ from the default."""
    name: str
    """Unique within the dataset and stream."""
    base: str = ""
    """The name without the code."""
    measured: dict[str, dict[int, float]] = field(default_factory=dict)
    """Values by measure and seed."""
    records: dict[int, Record] = field(default_factory=dict)
    """Records by seed; empty for a floor."""
    settings: Settings = field(default_factory=dict)
    is_floor: bool = False
    seeds: int = 0
    paper: float | None = None
    """The paper's kNN."""
    code: Mapping[str, str] = field(default_factory=dict)
    """Digest and commit of the code that made it; empty if not recorded."""
    other_names: frozenset[str] = frozenset()
    """Its method, and its variant in an experiment."""
    missing: tuple[str, ...] = ()
    """Current parameters that its records do not have."""
    panel: str = ""
    """Title of its panel: the dataset, with options that all runs on it share."""
    column: str = ""
    """The stream, with options that are not in the panel's title."""

    @property
    def place(self) -> Place:
        """Return dataset and stream."""
        return self.dataset, self.stream

    @property
    def title(self) -> str:
        """Return the dataset and the stream, then options that differ from the default.

        Examples
        --------
        >>> Group("mnist", "seq", "er", panel="mnist, validation", column="seq").title
        'mnist, seq, validation'
        """
        dataset, *special = self.panel.split(", ")
        return ", ".join([dataset, self.column, *special])

    @property
    def sees_labels(self) -> bool:
        """Whether its method learns from labels, so that it is only a reference."""
        method = self.settings.get("method", "")
        return method in METHODS and METHODS[method].knows.labels

    def values(self, measure: str) -> list[float]:
        """Return the values of a measure over seeds."""
        return list(self.measured.get(measure, {}).values())

    def mean(self, measure: str) -> float:
        """Return the mean over seeds; minus infinity without values."""
        values = self.values(measure)
        return statistics.mean(values) if values else float("-inf")

    def cell(self, measure: str) -> str:
        """Return mean ± standard deviation over seeds, or an empty string without values."""
        values, digits = self.values(measure), MEASURES[measure].digits
        if len(values) < 2:
            return f"{values[0]:.{digits}f}" if values else ""
        return f"{statistics.mean(values):.{digits}f} ± {statistics.stdev(values):.{digits}f}"


def make_groups(records: Sequence[Record], apart: Container[str] = ()) -> list[Group]:
    """Return the groups of records of runs, in the order of the records.

    Records of one group have the same settings and the same code. The last record of a seed counts.
    Variants name the records of one experiment. Others are named by their method and the parameters
    that differ from the default, without those that all groups share.

    Parameters
    ----------
    records
        Records of finished runs.
    apart
        Settings to leave out of names, because the figure has an axis for them.
    """
    by_variant = of_one_experiment(records)
    by_key: dict[str, dict[int, Record]] = defaultdict(dict)
    for record in records:
        variant = record.get("variant") if by_variant else None
        key = same_text([variant, settings_of(record), code_of(record).get("digest")])
        by_key[key][record["run"]["seed"]] = record
    cpu_time = uses_cpu_time(records)
    groups = [_group(dict(sorted(found.items())), cpu_time, apart) for found in by_key.values()]
    return _with_panels(_with_names(groups, by_variant, apart))


def floors_of(groups: Iterable[Group]) -> list[Group]:
    """Return the floors of each dataset and stream.

    They come from the group with most seeds; groups of known and of unknown code have separate
    floors. A floor is left out if the method of the same name has runs with as many seeds.
    """
    places: dict[tuple[Place, bool], list[Group]] = defaultdict(list)
    for group in groups:
        places[group.place, bool(group.code)].append(group)
    floors = []
    for (place, known), found in places.items():
        best = max(found, key=lambda group: group.seeds)
        own = {g.settings["method"]: g.seeds for g in found if not changed(g.settings)}
        for key, floor in _floors(best).items():
            if key in SAME_AS_METHOD and own.get(key, 0) >= floor.seeds:
                continue
            both = not known and (place, True) in places
            floors.append(
                replace(floor, name=f"{floor.name}, code {NOT_RECORDED}") if both else floor
            )
    return floors


def common_settings(groups: Sequence[Group]) -> Settings:
    """Return the non-default parameters that at least two groups have, all with one value.

    Examples
    --------
    >>> groups = [Group("a", "seq", "er", settings={"method": "er", "dataset": "a", "tau": t})
    ...           for t in (0.5, 0.5)]
    >>> common_settings(groups)
    {'tau': 0.5}
    """
    values: dict[str, list[Any]] = defaultdict(list)
    changes = [changed(group.settings) for group in groups]
    for group in groups:
        for name, value in {**added(group.settings), **group.settings}.items():
            values[name].append(value)
    return {
        name: found[0]
        for name, found in values.items()
        if len(found) > 1
        and len(set(map(same_text, found))) == 1
        and any(name in group.settings for group in groups)
        and all(
            name in own
            for own, group in zip(changes, groups, strict=True)
            if name in group.settings
        )
    }


def of_one_experiment(records: Sequence[Record]) -> bool:
    """Return whether one experiment made all records, so that its variants name them."""
    experiments = {record.get("experiment") for record in records}
    return len(experiments) == 1 and None not in experiments


def uses_cpu_time(records: Sequence[Record]) -> bool:
    """Return whether all records have CPU time; otherwise `time` is wall-clock time."""
    return all("cpu_seconds" in record["summary"]["timing"] for record in records)


def measure_record(record: Record, cpu_time: bool) -> dict[str, float]:
    """Return the value of each measure that a record has."""
    summary, curve = record["summary"], record.get("curve", {})
    positions = curve.get("position", [0])
    pairs = zip(curve.get("knn", []), positions, strict=False)
    later = [knn for knn, at in pairs if at >= EARLY * positions[-1]]
    timing = summary["timing"]
    costs = {
        "least": min(later) if later else None,
        "time": timing["cpu_seconds" if cpu_time else "wall_seconds"] / 60,
        "memory": timing.get("peak_memory_mb"),
    }
    found = {name: {**summary, **costs}.get(name) for name in MEASURES}
    return {name: float(value) for name, value in found.items() if value is not None}


def _group(records: dict[int, Record], cpu_time: bool, apart: Container[str]) -> Group:
    record = next(iter(records.values()))
    settings = settings_of(record)
    variants = {each["variant"] for each in records.values() if each.get("variant")}
    return Group(
        settings["dataset"],
        describe_stream(settings, apart),
        settings["method"],
        "",
        _by_measure({seed: measure_record(one, cpu_time) for seed, one in records.items()}),
        records,
        settings,
        seeds=len(records),
        paper=paper_value(settings),
        code=code_of(record),
        other_names=frozenset({settings["method"], *variants}),
        missing=tuple(not_recorded(settings)),
    )


def _floors(group: Group) -> dict[str, Group]:
    """Return the floors beside a group, by their key in records."""
    beside = {seed: one["summary"].get("floors", {}) for seed, one in group.records.items()}
    floors = {}
    for key in dict.fromkeys(key for found in beside.values() for key in found):
        by_seed = {seed: found[key] for seed, found in beside.items() if key in found}
        known = [
            name for name in MEASURES if any(v.get(name) is not None for v in by_seed.values())
        ]
        measured = _by_measure({s: {n: v.get(n) for n in known} for s, v in by_seed.items()})
        if "knn" in measured:  # a floor does not change along the stream
            measured |= {"average": measured["knn"], "least": measured["knn"]}
        title = FLOORS.get(key, key)
        names = frozenset({FLOOR + key, title} | ({key} if key in SAME_AS_METHOD else set()))
        floors[key] = replace(
            group,
            name=FLOOR + title,
            base=FLOOR + title,
            measured=measured,
            records={},
            settings={},
            is_floor=True,
            seeds=len(by_seed),
            paper=None,
            other_names=names,
            missing=(),
        )
    return floors


def _by_measure(by_seed: Mapping[int, Mapping[str, float | None]]) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = defaultdict(dict)
    for name in MEASURES:
        for seed, values in by_seed.items():
            value = values.get(name)
            if value is not None:
                found[name][seed] = float(value)
    return dict(found)


def _with_names(groups: list[Group], by_variant: bool, apart: Container[str]) -> list[Group]:
    """Return the groups with names that are unique within a dataset and stream."""
    common = common_settings(groups)
    named = []
    for group in groups:
        shown = {
            k: v for k, v in changed(group.settings).items() if k not in common and k not in apart
        }
        variant = next(iter(group.records.values())).get("variant") if by_variant else None
        named.append(variant or tell_changes(group.name, group.settings, shown))
    names = _tell_apart(groups, named, lambda group: group.settings, apart)
    full = _tell_apart(groups, names, lambda group: {"code": short_code(group)}, ())
    return [
        replace(group, name=name, base=base)
        for group, name, base in zip(groups, full, names, strict=True)
    ]


def _tell_apart(
    groups: list[Group],
    names: list[str],
    settings_by: Callable[[Group], Settings],
    apart: Container[str],
) -> list[str]:
    """Return the names; equal names within a dataset and stream get the settings that differ."""
    alike: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for i, group in enumerate(groups):
        axes = [group.settings.get(name) for name in sorted(group.settings) if name in apart]
        alike[*group.place, same_text([names[i], axes])].append(i)
    found = list(names)
    for same in alike.values():
        settings = [settings_by(groups[i]) for i in same]
        shown = [name for name in differing(settings) if name not in apart]
        full = [{name: own.get(name, NOT_RECORDED) for name in shown} for own in settings]
        short = [_not_default(own, groups[i].settings) for i, own in zip(same, full, strict=True)]
        if len(set(map(same_text, short))) < len(set(map(same_text, full))):
            short = full
        for i, own in zip(same, short, strict=True):
            found[i] = with_settings(names[i], own)
    return found


def _not_default(shown: Settings, settings: Settings) -> Settings:
    usual = defaults(settings)
    return {n: v for n, v in shown.items() if n not in usual or same_text(v) != same_text(usual[n])}


def _with_panels(groups: list[Group]) -> list[Group]:
    """Return the groups with titles of panels, which have the options that all groups share."""
    special = [group.stream.removeprefix(group.settings["stream"]) for group in groups]
    found = []
    for group, own in zip(groups, special, strict=True):
        of_dataset = {s for s, g in zip(special, groups, strict=True) if g.dataset == group.dataset}
        title, stream = Path(group.dataset).name, group.settings["stream"]
        panel, column = (title + own, stream) if len(of_dataset) == 1 else (title, stream + own)
        found.append(replace(group, panel=panel, column=column))
    return found


def short_code(group: Group) -> str:
    """Return the first digits of the commit or digest of a group's code, or "not recorded"."""
    if not group.code:
        return NOT_RECORDED
    return group.code["commit"][:9] if "commit" in group.code else group.code["digest"][:9]
