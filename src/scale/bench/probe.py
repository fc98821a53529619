"""How long a bench will take, from a few updates of each kind of run on this machine."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from scale.bench.job import Job
from scale.runs import Display, RunConfig, prepare
from scale.runs.measure import measure, measure_floors
from scale.runs.record import MetricsFile
from scale.runs.setting import Setting

FEW, MANY = 1, 3  # updates of the two batches whose difference tells what one update takes
START_SECONDS = 3.0  # a process that imports torch


@dataclass(frozen=True)
class Estimate:
    """What a bench will take."""

    runs: int
    updates: int
    seconds: float
    """Of all runs together, one after the other."""


@dataclass(frozen=True)
class _Cost:
    batch: float
    update: float
    evaluation: float
    once: float


def estimate(jobs: Sequence[Job], threads: int, tell: Callable[[str], None]) -> Estimate:
    """Measure one run of each kind for a few updates, and add up.

    Parameters
    ----------
    jobs
        What is to be run.
    threads
        Threads that each run will have.
    tell
        Told what is being measured: with many kinds of runs it takes a while.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    configs = {job.hash: job.config for job in jobs}
    kinds = Counter(_kind(config) for config in configs.values())
    updates, seconds = 0, 0.0
    try:
        for kind, count in kinds.items():
            config = next(c for c in configs.values() if _kind(c) == kind)
            tell(f"measuring {config.method} on {config.dataset} {config.stream}")
            cost, batches = _measure(config)
            steps = batches * config.params.get("steps_per_batch", 1)
            evaluated = cost.once + config.evaluations * cost.evaluation
            run = START_SECONDS + evaluated + batches * cost.batch + steps * cost.update
            updates += count * steps
            seconds += count * run
    finally:
        torch.set_num_threads(before)
    return Estimate(len(configs), updates, seconds)


def _kind(config: RunConfig) -> tuple[Any, ...]:
    """Return what runs of the same cost have in common.

    Of numbers such as temperatures and weights only it matters whether they are 0, which often
    leaves something out.
    """
    run = {**config.to_json(), "seed": 0, "threads": None}
    params = run.pop("params")
    cheap = {
        name: value if not isinstance(value, float) else value == 0
        for name, value in params.items()
    }
    return (*map(repr, run.items()), *map(repr, cheap.items()))


def _measure(config: RunConfig) -> tuple[_Cost, int]:
    begin = time.monotonic()
    setting = prepare(config)
    loading = time.monotonic() - begin
    learner, batches = setting.learner, len(setting.stream)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        metrics = MetricsFile(out / "metrics.jsonl")
        floors = _time(lambda: measure_floors(config, setting, out, metrics, Display()))
        evaluation = _time(lambda: measure(setting, out, metrics, full=False))
        metrics.close()
    _fill_memory(setting)
    if not hasattr(learner, "steps_per_batch"):
        batch = _time(lambda: _learn(setting, setting.stream.batch_size))
        return _Cost(batch, 0.0, evaluation, loading + floors), batches
    taken = []
    for steps in (FEW, MANY):
        learner.steps_per_batch = steps
        taken.append(_time(lambda: _learn(setting, setting.stream.batch_size)))
    update = max(taken[1] - taken[0], 0.0) / (MANY - FEW)
    batch = max(taken[0] - FEW * update, 0.0)
    return _Cost(batch, update, evaluation, loading + floors), batches


def _fill_memory(setting: Setting) -> None:
    """Learn one great batch, so that what follows costs what it does along most of the stream."""
    if hasattr(setting.learner, "steps_per_batch"):
        setting.learner.steps_per_batch = 1
    size = getattr(setting.learner, "memory_size", 0)
    _learn(setting, max(size, setting.stream.batch_size))


def _learn(setting: Setting, n: int) -> None:
    """Let the learner learn the first `n` images of the stream."""
    order = setting.stream.order[:n]
    labels = None
    if setting.learner.needs_labels and setting.labels is not None:
        labels = setting.labels[: len(order)]
    setting.learner.partial_fit(setting.stream.images[order], labels)


def _time(do: Callable[[], object]) -> float:
    begin = time.monotonic()
    do()
    return time.monotonic() - begin
