"""Estimate the time of a run from a few updates of a second learner; the run does not change."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from scale._errors import ScaleError
from scale.augment import resize
from scale.memory import Memory
from scale.methods import Learner
from scale.runs.config import RunConfig
from scale.runs.setting import Setting, make_learner

FEW, MANY = 1, 3  # updates of two timed batches; the difference gives the time of one update
FIRST_LOOK = 8  # images for the first guess
WORTH_TELLING = 60.0  # seconds; shorter runs are not announced
FLOORS = 3  # evaluations before the stream: random, pixels and pca
SMALL = 32  # side to suggest for a faster run


class Cost(NamedTuple):
    """Times of the parts of a run, in seconds."""

    batch: float
    """A stream batch, without its updates."""
    update: float
    embedding: float
    """One image in `transform`."""
    learner: Learner
    """The learner after these updates, with images in its memory."""

    def learning(self, batches: int, updates: int) -> float:
        """Return the seconds of a stream with `updates` updates per batch."""
        return batches * (self.batch + updates * self.update)


def duration(seconds: float) -> str:
    """Return a time in the unit that suits it.

    Examples
    --------
    >>> duration(4.2), duration(150), duration(3 * 3600)
    ('4 s', '2.5 min', '3.0 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def announce(config: RunConfig, setting: Setting) -> str | None:
    """Return the estimated time of a run as one line, or None if it is below about a minute.

    Parameters
    ----------
    config
        Config with all parameters.
    setting
        Source of the images; its learner and stream do not change.
    """
    try:
        return _announce(config, setting)
    except ScaleError:  # the run reports it
        return None


def _announce(config: RunConfig, setting: Setting) -> str | None:
    if _rough_guess(config, setting) < WORTH_TELLING:
        return None
    cost = measure_cost(config, setting, config.params.get("memory_batch", 0))
    beyond = _beyond_embedding(setting, cost)
    seconds = _seconds(config, setting, cost, beyond)
    if seconds < WORTH_TELLING:
        return None
    device = config.params.get("device", "cpu")
    cores = torch.get_num_threads()
    where = f"{cores} core{'s' if cores > 1 else ''}" if device == "cpu" else device
    told = f"about {duration(seconds)} on {where}"
    if min(setting.stream.images.shape[2:]) <= SMALL:
        return told
    cheap = measure_cost(config, setting, config.params.get("memory_batch", 0), side=SMALL)
    smaller = _seconds(config, setting, cheap, beyond)
    return told + (
        f"; --image-size {SMALL}: about {duration(smaller)}" if 2 * smaller < seconds else ""
    )


def measure_cost(
    config: RunConfig, setting: Setting, remembered: int, side: int | None = None
) -> Cost:
    """Return the cost of a run, from a few timed updates of a new learner.

    Parameters
    ----------
    config
        Config with all parameters.
    setting
        Source of the images and, if the method needs them, of the labels.
    remembered
        Number of images to learn first, so that the memory has images to replay.
    side
        Resize the images to this side first; None keeps them.
    """
    n = setting.stream.batch_size
    images, labels = _first_images(setting, max(remembered, n), side)
    learner = make_learner(config)
    counts_updates = "steps_per_batch" in learner.get_params()

    def learn(start: int, updates: int) -> float:
        if counts_updates:
            learner.steps_per_batch = updates  # type: ignore[attr-defined]
        rows = slice(start, start + n)
        told = labels[rows] if learner.needs_labels and labels is not None else None
        return timed(lambda: learner.partial_fit(images[rows], told))

    for start in range(0, len(images), n):
        learn(start, 1)
        if start >= n and _fill_memory(learner, images[start + n :]):
            break
    learn(0, 1)
    few = learn(0, FEW)
    update = max(learn(0, MANY) - few, 0.0) / (MANY - FEW) if counts_updates else 0.0
    learner.transform(images[:1])  # fits the read-out, if it has one
    half = timed(lambda: learner.transform(images[: n // 2 + 1]))
    whole = timed(lambda: learner.transform(images[:n]))
    embedding = max(whole - half, 0.0) / max(n - n // 2 - 1, 1)
    learn(0, 1)  # the next embedding fits the read-out again, as in an evaluation
    return Cost(max(few - FEW * update, 0.0), update, embedding, learner)


def _fill_memory(learner: Learner, images: np.ndarray) -> bool:
    """Put images into a memory that keeps nothing else, without learning; return whether done."""
    memory = learner.memory_
    if not isinstance(memory, Memory) or memory.columns:
        return False
    memory.update(torch.from_numpy(images[: max(memory.size - len(memory), 0)]))
    return True


def _rough_guess(config: RunConfig, setting: Setting) -> float:
    """Return the seconds of the stream, guessed from two updates with a few images."""
    images, labels = _first_images(setting, FIRST_LOOK, None)
    quick = {"steps_per_batch": 1} if "steps_per_batch" in config.params else {}
    learner = make_learner(dataclasses.replace(config, params={**config.params, **quick}))
    told = labels if learner.needs_labels else None
    learner.partial_fit(images, told)
    seconds = timed(lambda: learner.partial_fit(images, told))
    updates: int = config.params.get("steps_per_batch", 1)
    return seconds * updates * setting.stream.num_samples / len(images)


def _seconds(config: RunConfig, setting: Setting, cost: Cost, beyond: float) -> float:
    """Return the seconds of learning and of all evaluations.

    Parameters
    ----------
    cost
        Cost of learning and of embedding.
    beyond
        Seconds of an evaluation beyond embedding: read-out, neighbours, clustering and probe.
    """
    stream = setting.stream
    evaluating = 0.0
    if setting.evaluator is not None:
        counts = setting.evaluator.sets.counts()
        each = counts["eval"] + counts["bank"]
        embedded = (config.evaluations + 1) * each + 2 * counts["train"]
        evaluating = embedded * cost.embedding + (config.evaluations + FLOORS) * beyond
    return cost.learning(len(stream), config.params.get("steps_per_batch", 1)) + evaluating


def _beyond_embedding(setting: Setting, cost: Cost) -> float:
    """Return the seconds of one evaluation without those of embedding its images."""
    evaluator = setting.evaluator
    if evaluator is None:
        return 0.0
    counts = evaluator.sets.counts()
    seconds = timed(lambda: evaluator(cost.learner.transform))
    return max(seconds - (counts["eval"] + counts["bank"]) * cost.embedding, 0.0)


def _first_images(
    setting: Setting, count: int, side: int | None
) -> tuple[np.ndarray, np.ndarray | None]:
    order = setting.stream.order[:count]
    images: Any = np.array(setting.stream.images[order])
    if side is not None:
        images = resize(torch.from_numpy(images), side).mul(255).round().byte().numpy()
    return images, None if setting.labels is None else setting.labels[: len(order)]


def timed(do: Callable[[], object]) -> float:
    """Return the seconds that `do` takes."""
    begin = time.monotonic()
    do()
    return time.monotonic() - begin
