"""The images that an export is checked with: those of the run's dataset, or those in memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scale._errors import ScaleError
from scale.evaluate import Evaluator
from scale.methods import Learner
from scale.runs import RunConfig, prepare
from scale.runs.config import CONFIG

CHECKED = 256  # images on which the file and the learner are compared
KEPT = 512  # images in memory whose neighbours are compared


@dataclass(frozen=True)
class Samples:
    """Images of the learner's shape, and where they come from."""

    images: np.ndarray
    """(n, c, h, w) uint8."""
    origin: str
    evaluator: Evaluator | None = None
    """The run's evaluation, if its dataset is there and has labels."""


def samples_for(run: Path, learner: Learner) -> Samples:
    """Return real images; random ones if there is no dataset and the learner keeps no images.

    Parameters
    ----------
    run
        Folder of a run or of a live learner, or a saved learner.
    learner
        Its learner.
    """
    if (run / CONFIG).is_file() and (found := _of_dataset(run)) is not None:
        return found
    if learner.memory_ is not None and len(learner.memory_):
        images = _spread(learner.memory_.images.numpy(), KEPT)
        return Samples(images, f"{len(images)} images in memory")
    assert learner.image_shape_ is not None
    noise = np.random.default_rng(0).integers(
        0, 256, (CHECKED, *learner.image_shape_), dtype=np.uint8
    )
    return Samples(noise, f"{CHECKED} random images (there are no others)")


def calibration_images(learner: Learner, samples: Samples) -> tuple[np.ndarray, str]:
    """Return the images that fix the ranges of 8-bit numbers, and what they are."""
    if learner.memory_ is not None and len(learner.memory_):
        images = _spread(learner.memory_.images.numpy(), CHECKED)
        return images, f"{len(images)} images in memory"
    return _spread(samples.images, CHECKED), samples.origin


def _of_dataset(run: Path) -> Samples | None:
    config = RunConfig.read(run)
    try:
        setting = prepare(config)
    except ScaleError:  # the data is no longer there
        return None
    if setting.evaluator is None:
        images = _spread(setting.stream.images, CHECKED)
        return Samples(images, f"{len(images)} images of {config.dataset}")
    images = _spread(setting.evaluator.sets.eval_images, CHECKED)
    return Samples(images, f"{len(images)} test images of {config.dataset}", setting.evaluator)


def _spread(images: np.ndarray, count: int) -> np.ndarray:
    """Return a copy of at most `count` images, evenly spaced: they may be ordered by class."""
    count = min(count, len(images))
    return np.array(images[np.arange(count) * len(images) // max(count, 1)])
