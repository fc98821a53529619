"""The jobs of an experiment, with the user's changes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scale._errors import InputError
from scale._names import check_text, shown
from scale.bench.experiment import Experiment, Settings
from scale.bench.job import Job
from scale.bench.settings import check_settings, make_config
from scale.methods import METHODS
from scale.runs import RunConfig
from scale.streams import STREAMS


def plan(
    experiment: Experiment,
    chosen: Mapping[str, Sequence[Any]] | None = None,
    variants: Sequence[str] = (),
) -> list[Job]:
    """Return the jobs of an experiment; equal runs of a variant are one job.

    Later settings override earlier ones: shared settings, dataset, updates of a method, axes,
    variant.

    Parameters
    ----------
    experiment
        The experiment.
    chosen
        Values by name that replace those of the experiment.
    variants
        Variants to run; by default all.

    Examples
    --------
    >>> from scale.bench import load_experiment
    >>> jobs = plan(load_experiment("lambda"), {"dataset": ["digits"], "seed": [0]})
    >>> jobs[0].label
    'scale, lam 0.0 on digits iid, seed 0'
    """
    rows = _choose_variants(experiment, variants)
    axes = dict(experiment.axes)
    for name, values in (chosen or {}).items():
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise InputError(f"the values of {name} must be a list, got {shown(values)}")
        axes[name] = list(values)
    _check(experiment, axes, rows)
    jobs: dict[tuple[str, str], Job] = {}
    for variant, settings, point in _combinations(experiment, axes, rows):
        job = Job(experiment.name, make_config(settings), variant, point)
        jobs.setdefault((variant, job.hash), job)
    if not jobs:
        skipped = "; ".join(_told(entry) for entry in experiment.skip)
        raise InputError(f"experiment {experiment.name} has no such run: it leaves out {skipped}")
    return list(jobs.values())


def _told(settings: Settings) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items())


def _combinations(
    experiment: Experiment, axes: dict[str, list[Any]], rows: dict[str, Settings]
) -> Iterator[tuple[str, Settings, Settings]]:
    # Seeds change slowest, so a bench that stops early has the whole table with fewer seeds.
    names = sorted(axes, key=lambda name: name != "seed")
    varied = {name for name in axes if name in experiment.axes or len(axes[name]) > 1}
    for values in itertools.product(*(axes[name] for name in names)):
        point = dict(zip(names, values, strict=True))
        if any(entry.items() <= point.items() for entry in experiment.skip):
            continue
        for variant, of_variant in rows.items():
            named = {**experiment.base, **point, **of_variant}
            dataset = named.get("dataset", RunConfig.dataset)
            of_dataset = {**experiment.datasets.get(dataset, {})}
            updates = experiment.updates.get(dataset, {})
            if (method := named.get("method", RunConfig.method)) in updates:
                of_dataset["steps_per_batch"] = updates[method]
            settings = {**experiment.base, **of_dataset, **point, **of_variant}
            yield variant, settings, {name: point[name] for name in names if name in varied}


def _choose_variants(experiment: Experiment, wanted: Sequence[str]) -> dict[str, Settings]:
    if not wanted:
        return experiment.variants or {"": {}}
    for name in wanted:
        if name not in experiment.variants:
            known = ", ".join(experiment.variants) or "none"
            raise InputError(f"{experiment.name} has no variant {name!r} (known: {known})")
    return {name: experiment.variants[name] for name in wanted}


def _check(experiment: Experiment, axes: dict[str, list[Any]], rows: dict[str, Settings]) -> None:
    where = f"experiment {experiment.name}"
    for name in axes:
        if any(name in settings for settings in rows.values()):
            raise InputError(
                f"{where}: its variants differ in {name}, so it cannot be an axis; choose "
                f"among them with --variants {' '.join(experiment.variants)}"
            )
    for name in {name for entry in experiment.skip for name in entry} - experiment.axes.keys():
        raise InputError(
            f"{where}: skip has {name}, which is no axis (axes: {', '.join(experiment.axes)})"
        )
    for method in {method for of_dataset in experiment.updates.values() for method in of_dataset}:
        METHODS[method]
    parts = [experiment.base, *experiment.datasets.values(), *rows.values()]
    usual = experiment.base.get("method", RunConfig.method)
    named = axes.get("method") or [row.get("method", usual) for row in rows.values()]
    methods = {check_text(f"{where}: method", name) for name in named}
    for method in methods:
        METHODS[method]  # raises for an unknown name
    everywhere = [axes, *({name: [value] for name, value in part.items()} for part in parts)]
    for settings in everywhere:
        for stream in settings.get("stream", []):
            STREAMS[stream]
    for part in parts:
        check_settings({name: [value] for name, value in part.items()}, {*METHODS, *methods}, where)
    check_settings(axes, methods, where)
