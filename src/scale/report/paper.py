"""The paper's values, from the built-in experiments, and the settings that they belong to."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from scale.bench import Experiment, Job, list_experiments, plan
from scale.methods import METHODS
from scale.report.names import (
    FIXED,
    NO_SETTINGS,
    OF_THE_STREAM,
    Settings,
    describe_stream,
    same_text,
)

MAY_DIFFER = ("steps_per_batch", "evaluations", *NO_SETTINGS, *OF_THE_STREAM)
"""Settings that may differ from those of the paper's value."""


def paper_value(settings: Settings) -> float | None:
    """Return the paper's kNN of the variant with these settings, or None.

    Data and evaluation must be the dataset's defaults. Each recorded parameter must be that of the
    variant or of one of its presets. Only the updates for each batch may differ.

    Examples
    --------
    >>> run = {"dataset": "cifar10", "stream": "seq", "method": "scale", "lam": 0.1}
    >>> paper_value(run), paper_value(run | {"lam": 0.5})
    (32.18, None)
    """
    if describe_stream(settings) != settings["stream"]:
        return None
    own = {k: same_text(v) for k, v in settings.items() if k not in MAY_DIFFER}
    found = {value for variant, value in _variants(settings["dataset"]) if own.items() <= variant}
    return found.pop() if len(found) == 1 else None


@lru_cache(maxsize=64)
def _variants(dataset: str) -> list[tuple[set[tuple[str, str]], float]]:
    """Return the settings and the value of each variant with a value in the paper."""
    found = []
    for experiment in list_experiments():
        if experiment.measure != "knn" or dataset not in experiment.paper:
            continue
        for job in _jobs(experiment, dataset):
            value = experiment.paper[dataset].get(job.variant)
            if value is not None:
                run = job.config.to_json()
                params = {k: v for k, v in run["params"].items() if (run["method"], k) not in FIXED}
                found.append(({(k, same_text(v)) for k, v in {**run, **params}.items()}, value))
    return found


def _jobs(experiment: Experiment, dataset: str) -> list[Job]:
    """Return a job for each variant on the dataset, and for each preset of it."""
    where: dict[str, list[Any]] = {"dataset": [dataset], "seed": [0]}
    jobs = plan(experiment, where)
    presets = {name for job in jobs for name in METHODS[job.config.method].presets}
    for preset in sorted(presets):
        jobs += plan(experiment, {**where, "preset": [preset]})
    return jobs
