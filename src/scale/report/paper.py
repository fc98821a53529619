"""The paper's own values, from the built-in experiments, and the runs that they are about."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from scale.bench import Experiment, Job, list_experiments, plan
from scale.methods import METHODS
from scale.report.naming import OF_THE_STREAM, complete, same_text

MAY_DIFFER = ("device", "steps_per_batch")
"""Parameters that a run may have otherwise and still be what the paper's value is about."""


def paper_knn(datasets: Iterable[str]) -> dict[str, float]:
    """Return the paper's kNN on some datasets, by `paper_key` of the runs it is about.

    A run is the paper's when its data and evaluation are the usual ones and its method and
    parameters are those of a variant of the experiment, as they are by default or in a preset; only
    the updates for each batch may be more or fewer.
    """
    found, wanted = {}, set(datasets)
    for experiment in list_experiments():
        if experiment.measure != "knn":
            continue
        for job in _jobs(experiment, sorted(wanted & set(experiment.paper))):
            value = experiment.paper[job.config.dataset].get(job.variant)
            if value is not None:
                found[paper_key(job.config.to_json())] = value
    return found


def paper_key(run: dict[str, Any]) -> str:
    """Return what a run and a variant of the paper's have in common.

    Examples
    --------
    >>> run = {"dataset": "cifar10", "stream": "seq", "method": "scale", "seed": 2, "params": {}}
    >>> known = paper_knn(["cifar10"])
    >>> known[paper_key(run)]
    32.18
    >>> paper_key(run | {"samples_per_class": 100}) in known
    False
    """
    found = complete(run)
    place = [found[name] for name in ("dataset", "stream", "method", *OF_THE_STREAM)]
    params = {name: v for name, v in found["params"].items() if name not in MAY_DIFFER}
    return same_text([place, params])


def _jobs(experiment: Experiment, datasets: list[str]) -> list[Job]:
    """Return a job for each variant on these datasets, and for each preset of it."""
    if not datasets:
        return []
    where: dict[str, list[Any]] = {"dataset": datasets, "seed": [0]}
    jobs = plan(experiment, where)
    presets = {name for job in jobs for name in METHODS[job.config.method].presets}
    for preset in sorted(presets):
        jobs += plan(experiment, {**where, "preset": [preset]})
    return jobs
