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
from scale.runs.config import RunConfig
from scale.runs.setting import Setting, make_learner

FEW, MANY = 1, 3  # updates of two timed batches; the difference gives the time of one update
FIRST_LOOK = 8  # images for the first guess
WORTH_TELLING = 60.0  # seconds; shorter runs are not announced
SMALL = 32  # side to suggest for a faster run


class Cost(NamedTuple):
    """Times of the parts of a run, in seconds."""

    batch: float
    """A stream batch, without its updates."""
    update: float
    embedding: float
    """One image in `transform`."""

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
    seconds = _seconds(config, setting, side=None)
    if seconds < WORTH_TELLING:
        return None
    device = config.params.get("device", "cpu")
    cores = torch.get_num_threads()
    where = f"{cores} core{'s' if cores > 1 else ''}" if device == "cpu" else device
    told = f"about {duration(seconds)} on {where}"
    if min(setting.stream.images.shape[2:]) <= SMALL:
        return told
    smaller = _seconds(config, setting, side=SMALL)
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

    def learn(count: int, updates: int) -> float:
        if counts_updates:
            learner.steps_per_batch = updates  # type: ignore[attr-defined]
        told = labels[:count] if learner.needs_labels and labels is not None else None
        return _time(lambda: learner.partial_fit(images[:count], told))

    learn(len(images), 1)
    few = learn(n, FEW)
    update = max(learn(n, MANY) - few, 0.0) / (MANY - FEW) if counts_updates else 0.0
    half = _time(lambda: learner.transform(images[: n // 2 + 1]))
    whole = _time(lambda: learner.transform(images[:n]))
    embedding = max(whole - half, 0.0) / max(n - n // 2 - 1, 1)
    return Cost(max(few - FEW * update, 0.0), update, embedding)


def _rough_guess(config: RunConfig, setting: Setting) -> float:
    """Return the seconds of the stream, guessed from two updates with a few images."""
    images, labels = _first_images(setting, FIRST_LOOK, None)
    quick = {"steps_per_batch": 1} if "steps_per_batch" in config.params else {}
    learner = make_learner(dataclasses.replace(config, params={**config.params, **quick}))
    told = labels if learner.needs_labels else None
    learner.partial_fit(images, told)
    seconds = _time(lambda: learner.partial_fit(images, told))
    updates: int = config.params.get("steps_per_batch", 1)
    return seconds * updates * setting.stream.num_samples / len(images)


def _seconds(config: RunConfig, setting: Setting, side: int | None) -> float:
    """Return the seconds of learning and of embedding the evaluation images."""
    stream = setting.stream
    cost = measure_cost(config, setting, config.params.get("memory_batch", 0), side)
    embedded = 0
    if setting.evaluator is not None:
        counts = setting.evaluator.sets.counts()
        each = counts["eval"] + counts["bank"]
        embedded = (config.evaluations + 1) * each + 2 * counts["train"]
    learning = cost.learning(len(stream), config.params.get("steps_per_batch", 1))
    return learning + embedded * cost.embedding


def _first_images(
    setting: Setting, count: int, side: int | None
) -> tuple[np.ndarray, np.ndarray | None]:
    order = setting.stream.order[:count]
    images: Any = np.array(setting.stream.images[order])
    if side is not None:
        images = resize(torch.from_numpy(images), side).mul(255).round().byte().numpy()
    return images, None if setting.labels is None else setting.labels[: len(order)]


def _time(do: Callable[[], object]) -> float:
    begin = time.monotonic()
    do()
    return time.monotonic() - begin
