"""Estimate the time of a bench from a few updates of each kind of run on this machine."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch

from scale.bench.job import Job
from scale.evaluate import (
    Evaluator,
    floor_transforms,
    guard,
    kmeans,
    knn_predict,
    linear_probe,
    spectral_clustering,
)
from scale.evaluate.knn import NeighbourSearch
from scale.runs import RunConfig, complete, prepare
from scale.runs.probe import Cost, measure_cost, timed
from scale.runs.run import evaluation_points
from scale.runs.setting import Setting

FEW_IMAGES = 256  # embedded to know the cost of one
FEW_ROWS = 1000  # evaluated to know the cost of one
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
    kinds = Counter((_kind(config), config.stream) for config in configs.values())
    pieces: dict[tuple[Any, ...], _Pieces] = {}
    known = Known()
    updates, seconds = 0, 0.0
    try:
        for (kind, stream), count in kinds.items():
            config = next(c for c in configs.values() if c.stream == stream and _kind(c) == kind)
            setting = prepare(config)
            if kind not in pieces:
                tell(f"measuring {config.method} on {config.dataset}")
                pieces[kind] = _measure(config, setting, known)
            batches = len(setting.stream)
            updates += count * batches * config.params.get("steps_per_batch", 1)
            seconds += count * _seconds(config, batches, pieces[kind])
    finally:
        torch.set_num_threads(before)
    return Estimate(len(configs), updates, seconds)


def _kind(config: RunConfig) -> tuple[Any, ...]:
    """Return a key that is equal for runs of equal cost.

    A float, such as a temperature or a weight, counts only as zero or not: 0 often skips work. The
    order of the stream changes no cost of a batch.
    """
    run = {**config.to_json(), "seed": 0, "threads": None, "stream": None}
    params = run.pop("params")
    cheap = {
        name: value if not isinstance(value, float) else value == 0
        for name, value in params.items()
    }
    return (*map(repr, run.items()), *map(repr, cheap.items()))


class _Pieces(NamedTuple):
    """Seconds of the pieces of one kind of run."""

    cost: Cost
    start: float
    """Before the stream: the floors and the first evaluation."""
    each: float
    """An evaluation."""
    full: float
    """What the last evaluation takes beyond that: all train images as bank."""


def _seconds(config: RunConfig, batches: int, pieces: _Pieces) -> float:
    """Return the seconds of one run."""
    learning = pieces.cost.learning(batches, config.params.get("steps_per_batch", 1))
    evaluations = len(evaluation_points(batches, config.evaluations))
    return START_SECONDS + pieces.start + learning + evaluations * pieces.each + pieces.full


def _measure(config: RunConfig, setting: Setting, known: Known) -> _Pieces:
    """Return the seconds of each piece of a run, from a few images.

    They are measured with a learner whose memory is full: an embedding may read the memory.
    """
    cost = measure_cost(config, setting, config.params.get("memory_size", 0))
    with_guard = timed(lambda: guard(cost.learner))  # it also fits the read-out
    evaluator = setting.evaluator
    if evaluator is None:
        return _Pieces(cost, 0.0, with_guard, 0.0)
    sets = evaluator.sets
    features = cost.learner.transform(np.array(sets.bank_images[:FEW_IMAGES]))
    beyond = known.measures(evaluator, features.shape[1])
    asked = len(sets.eval_labels) + len(sets.bank_labels)
    every = len(sets.train_labels)
    each = with_guard + asked * cost.embedding + beyond.each
    full = every * cost.embedding + beyond.full
    floors = known.floors(evaluator, cost.learner.image_side)
    return _Pieces(cost, each + full + floors, each, full)


class Beyond(NamedTuple):
    """Seconds of the measures of features that are computed already."""

    each: float
    full: float


class Known:
    """Times that do not depend on the method, each measured once."""

    def __init__(self) -> None:
        self._measures: dict[tuple[int, ...], Beyond] = {}
        self._floors: dict[tuple[Any, ...], float] = {}

    def measures(self, evaluator: Evaluator, dim: int) -> Beyond:
        """Return the times of the measures of features with `dim` dimensions.

        A part of the evaluation set is timed, with features drawn around one centre for each
        class. The spectral clustering grows with the square of the images.
        """
        sets, seed = evaluator.sets, evaluator.seed
        counts = sets.counts()
        key = (*counts.values(), evaluator.protocol.k, dim)
        if key in self._measures:
            return self._measures[key]
        T = counts["classes"]
        some = min(max(FEW_ROWS, T), counts["eval"])
        rng = np.random.default_rng(0)
        which = rng.integers(0, T, some + counts["bank"])
        centres = rng.normal(size=(T, dim))
        drawn = centres[which] + 3 * rng.normal(size=(len(which), dim))
        queries, bank = np.split(drawn.astype(np.float32), [some])
        asked, labels = sets.eval_labels[:some], sets.bank_labels
        more = counts["eval"] / some
        each = more**2 * timed(lambda: spectral_clustering(queries, T, seed))
        each += more * timed(lambda: kmeans(queries, T, seed))
        each += more * timed(lambda: knn_predict(bank, labels, queries, k=evaluator.protocol.k))
        each += timed(lambda: linear_probe(bank, labels, queries, asked, seed))
        search = NeighbourSearch(queries, k=evaluator.protocol.full_k, metric="cosine")
        search.add(bank, labels)  # from the second part on, the best so far are merged
        taken = timed(lambda: search.add(bank, labels))
        full = taken * more * counts["train"] / len(bank)
        self._measures[key] = Beyond(each, full)
        return self._measures[key]

    def floors(self, evaluator: Evaluator, image_side: int | None) -> float:
        """Return the time of the floors `pixels` and `pca`."""
        sets = evaluator.sets
        counts = sets.counts()
        key = (*counts.values(), *sets.bank_images.shape, image_side)
        if key not in self._floors:
            begin = time.monotonic()
            transforms = floor_transforms(sets.bank_images, image_side, evaluator.seed)
            seconds = time.monotonic() - begin  # PCA is fitted
            some = np.array(sets.eval_images[:FEW_IMAGES])
            for transform in transforms.values():
                dim = transform(some).shape[1]
                each = timed(partial(transform, some)) / len(some)
                embedded = counts["eval"] + counts["bank"] + counts["train"]
                seconds += embedded * each + sum(self.measures(evaluator, dim))
            self._floors[key] = seconds
        return self._floors[key]
