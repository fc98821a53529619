"""From a config to the things a run needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scale._errors import InputError, NoSplitError
from scale.data import ImageSet, load_dataset
from scale.evaluate import Evaluator, Protocol, draw_evaluation_sets, hold_out, protocol_for
from scale.methods import METHODS, Learner
from scale.runs.config import RunConfig
from scale.runs.recipes import recipe_for, recipe_params
from scale.streams import Stream, make_order

VALIDATION_SEED = 20_000_000  # far from any run's: validation images are the same for all seeds


@dataclass
class Setting:
    """What one run works with. Labels stay here, except for learners that learn from them."""

    stream: Stream
    learner: Learner
    evaluator: Evaluator | None
    protocol: Protocol
    labels: np.ndarray | None
    """Class of each image in the order of the stream."""
    class_names: tuple[str, ...]
    source: str
    skipped: tuple[str, ...]

    def labels_for_learner(self, n: int) -> np.ndarray | None:
        """Return the classes of the last `n` images for a learner with `needs_labels`, else None.

        This is the only way from labels to a learner.
        """
        if not self.learner.needs_labels or self.labels is None:
            return None
        return self.labels[self.stream.cursor - n : self.stream.cursor]

    def facts(self) -> dict[str, Any]:
        """What the data turned out to be, for the record."""
        return {
            "source": self.source,
            "images": self.stream.num_samples,
            "batches": len(self.stream),
            "image_shape": list(self.stream.images.shape[1:]),
            "class_names": list(self.class_names),
            "per_class": []
            if self.labels is None
            else np.bincount(self.labels, minlength=len(self.class_names)).tolist(),
            "evaluation": None if self.evaluator is None else self.evaluator.sets.counts(),
            "skipped": list(self.skipped),
        }


def prepare(config: RunConfig, progress: Callable[[int, int], None] | None = None) -> Setting:
    """Load the data, draw stream and evaluation sets, make the learner."""
    train, test = _load(config, progress)
    protocol = protocol_for(
        config.dataset,
        train.labels if train.labels is not None else [],
        None if test is None or test.labels is None else test.labels,
    )
    if config.bank_size is not None:
        protocol = replace(protocol, bank_size=config.bank_size)
    evaluator = None
    if train.labels is not None:
        if config.validation or test is None:
            seed = VALIDATION_SEED if config.validation else config.seed
            train, test = hold_out(train, protocol.eval_per_class, seed)
        sets = draw_evaluation_sets(train, test, protocol, config.seed)
        evaluator = Evaluator(sets, protocol, config.seed)
    order = make_order(
        config.stream,
        train.labels,
        samples_per_class=config.samples_per_class or protocol.samples_per_class,
        class_order=config.class_order,
        seed=config.seed,
        num_samples=len(train),
    )
    recipe = recipe_for(config.dataset)
    learner = make_learner(config)
    if learner.needs_labels and train.labels is None:
        raise InputError(
            f"{config.method} with these parameters learns from labels, "
            f"and {config.dataset} has none"
        )
    stream = Stream(train.images, order, config.stream_batch or recipe.stream_batch)
    return Setting(
        stream=stream,
        learner=learner,
        evaluator=evaluator,
        protocol=protocol,
        labels=None if train.labels is None else train.labels[order],
        class_names=train.class_names,
        source=train.source,
        skipped=train.skipped,
    )


def make_learner(config: RunConfig) -> Learner:
    """Return the learner of a config; the dataset's recipe fills in what the user left open."""
    method = METHODS[config.method]
    usual = recipe_params(config.dataset, method)
    params = {**usual, **config.params, "seed": config.seed}
    try:
        return method(**params)
    except TypeError as error:
        raise InputError(f"method {config.method!r}: {error}") from error


def _load(
    config: RunConfig, progress: Callable[[int, int], None] | None
) -> tuple[ImageSet, ImageSet | None]:
    def load(split: str) -> ImageSet:
        return load_dataset(
            config.dataset,
            split,
            label=config.label,
            image_size=config.image_size,
            on_bad=config.on_bad,
            progress=progress,
        )

    train = load("train")
    if config.validation or train.labels is None:
        return train, None
    try:
        return train, load("test")
    except NoSplitError:
        return train, None  # no test split: part of train is held out
