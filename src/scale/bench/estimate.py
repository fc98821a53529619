"""Estimate the time of a bench from a few updates of each kind of run on this machine."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from scale.bench.job import Job
from scale.runs import Display, RunConfig, complete, prepare
from scale.runs.measure import measure, measure_floors
from scale.runs.metrics import MetricsFile
from scale.runs.probe import measure_cost
from scale.runs.run import evaluation_points

START_SECONDS = 3.0  # a process that imports torch


@dataclass(frozen=True)
class Estimate:
    """The cost of a bench."""

    runs: int
    updates: int
    seconds: float
    """Time of all runs, one after the other."""


def estimate(jobs: Sequence[Job], threads: int, tell: Callable[[str], None]) -> Estimate:
    """Return the estimated cost of `jobs`, from a few updates of one run of each kind.

    Parameters
    ----------
    jobs
        Jobs of the bench.
    threads
        Threads of each run.
    tell
        Called with a line of text before each measurement.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    configs = {job.hash: complete(job.config) for job in jobs}
    kinds = Counter(_kind(config) for config in configs.values())
    updates, seconds = 0, 0.0
    try:
        for kind, count in kinds.items():
            config = next(c for c in configs.values() if _kind(c) == kind)
            tell(f"measuring {config.method} on {config.dataset} {config.stream}")
            taken, batches = _measure(config)
            updates += count * batches * config.params.get("steps_per_batch", 1)
            seconds += count * taken
    finally:
        torch.set_num_threads(before)
    return Estimate(len(configs), updates, seconds)


def _kind(config: RunConfig) -> tuple[Any, ...]:
    """Return a key that is equal for runs of equal cost.

    A float, such as a temperature or a weight, counts only as zero or not: 0 often skips work.
    """
    run = {**config.to_json(), "seed": 0, "threads": None}
    params = run.pop("params")
    cheap = {
        name: value if not isinstance(value, float) else value == 0
        for name, value in params.items()
    }
    return (*map(repr, run.items()), *map(repr, cheap.items()))


def _measure(config: RunConfig) -> tuple[float, int]:
    """Return the seconds of one run, and its number of batches.

    Evaluations are timed with a learner whose memory is full: an embedding may read the memory.
    """
    begin = time.monotonic()
    setting = prepare(config)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        metrics = MetricsFile(out / "metrics.jsonl")
        measure_floors(config, setting, out, metrics, Display())
        started = time.monotonic() - begin
        cost = measure_cost(config, setting, config.params.get("memory_size", 0))
        learned = replace(setting, learner=cost.learner)
        before = time.monotonic()
        measure(learned, out, metrics, full=False)
        halfway = time.monotonic()
        measure(learned, out, metrics, full=True)
        each, last = halfway - before, time.monotonic() - halfway
        metrics.close()
    batches = len(setting.stream)
    learning = cost.learning(batches, config.params.get("steps_per_batch", 1))
    on_the_way = len(evaluation_points(batches, config.evaluations)) - 1
    return START_SECONDS + started + learning + on_the_way * each + last, batches
