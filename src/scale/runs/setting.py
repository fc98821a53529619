"""The data, the stream, the learner and the evaluator of a run, from its config."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from scale._errors import InputError, NoSplitError
from scale._names import shown
from scale.data import ImageSet, load_dataset
from scale.evaluate import Evaluator, Protocol, draw_evaluation_sets, hold_out, protocol_for
from scale.methods import METHODS, Learner
from scale.runs.config import RunConfig
from scale.runs.parameters import default_stream_batch, parameters
from scale.runs.room import refuse_large_evaluation
from scale.runs.same_data import digests
from scale.streams import Stream, make_order

Splits = tuple[ImageSet, ImageSet | None, str]
SKIPPED_SHOWN = 5
VALIDATION_SEED = 20_000_000  # fixed, so that validation images are the same for all seeds


@dataclass
class Setting:
    """The objects of one run. Labels reach only learners with `needs_labels`."""

    stream: Stream
    learner: Learner
    evaluator: Evaluator | None
    protocol: Protocol
    labels: np.ndarray | None
    """Class of each image in the order of the stream."""
    class_names: tuple[str, ...]
    source: str
    available: int
    """Number of images in the train split, before any is held out or left out."""
    skipped: tuple[str, ...]
    notes: list[str] = field(default_factory=list)
    """Lines about the data, for the user."""
    seen_before: int = 0
    """Images that the learner had seen before this stream, if it has a memory."""
    begun: dict[str, Any] = field(default_factory=dict)
    """The options at the start and a digest of config.json, for the checkpoints."""

    def labels_for_learner(self, n: int) -> np.ndarray | None:
        """Return the classes of the last `n` images for a learner with `needs_labels`, else None.

        Labels reach a learner only through this function.
        """
        if not self.learner.needs_labels or self.labels is None:
            return None
        return self.labels[self.stream.cursor - n : self.stream.cursor]

    def facts(self) -> dict[str, Any]:
        """Return the facts about the data, for the record."""
        return {
            "source": self.source,
            "available": self.available,
            "images": self.stream.num_samples,
            "batches": len(self.stream),
            "image_shape": list(self.stream.images.shape[1:]),
            "class_names": list(self.class_names),
            "per_class": []
            if self.labels is None
            else np.bincount(self.labels, minlength=len(self.class_names)).tolist(),
            "evaluation": None if self.evaluator is None else self.evaluator.sets.counts(),
            "skipped": list(self.skipped),
            "digests": digests(self.stream, self.labels, self.evaluator),
        }


def prepare(
    config: RunConfig,
    progress: Callable[[int, int], None] | None = None,
    protocol: Protocol | None = None,
    learner: Learner | None = None,
    splits: Splits | None = None,
) -> Setting:
    """Return the objects of a run: load the data, draw the sets, make stream and learner.

    Parameters
    ----------
    config
        Options of the run.
    progress
        Called with (done, total) while images are decoded.
    protocol
        Evaluation protocol; by default the dataset's.
    learner
        The learner; by default a new one.
    splits
        Result of `load_splits`; by default it is called.
    """
    if splits is not None and not (isinstance(splits, tuple) and len(splits) == 3):
        raise InputError(f"splits must be what load_splits returned, got {shown(splits)}")
    train, test, why = splits or load_splits(config, progress)
    learner = learner or make_learner(config)
    _refuse_unfit(config, learner, train, test)
    notes = []
    available, skipped = len(train), train.skipped + (() if test is None else test.skipped)
    protocol = protocol or protocol_for(
        config.dataset,
        train.labels if train.labels is not None else [],
        None if test is None else test.labels,
    )
    if config.bank_size is not None:
        protocol = replace(protocol, bank_size=config.bank_size)
    evaluator = None
    if train.labels is not None:
        refuse_large_evaluation(train, test, protocol, learner)
        if test is None:
            seed = VALIDATION_SEED if config.validation else config.seed
            train, test = hold_out(train, protocol.eval_per_class, seed)
            notes.append(f"{why}: {len(test)} of {available} images are held out for evaluation")
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
    batch_size = config.stream_batch or default_stream_batch(config.dataset)
    return Setting(
        stream=Stream(train.images, order, batch_size),
        learner=learner,
        evaluator=evaluator,
        protocol=protocol,
        labels=None if train.labels is None else train.labels[order],
        class_names=train.class_names,
        source=train.source,
        available=available,
        skipped=skipped,
        notes=[*_tell_skipped(skipped), *notes, *_tell_left_out(config, train, order)],
    )


def make_learner(config: RunConfig) -> Learner:
    """Return the learner of a config; the dataset's card sets parameters that the user did not."""
    params = parameters(config.method, config.dataset, given=config.params)
    return METHODS[config.method](**params, seed=config.seed)


def _refuse_unfit(
    config: RunConfig, learner: Learner, train: ImageSet, test: ImageSet | None
) -> None:
    """Raise `InputError` if splits and learner do not fit together."""
    if learner.needs_labels and train.labels is None:
        raise InputError(
            f"{config.method} with these parameters learns from labels, and {config.dataset} has "
            "none; choose another method, or data with labels"
        )
    shape = train.images.shape[1:]
    if test is not None and test.images.shape[1:] != shape:
        raise InputError(
            f"the train images of {config.dataset} are {_by(shape)} and its test images "
            f"{_by(test.images.shape[1:])}; give both one size and the same channels, for example "
            f"with --image-size {min(shape[1:])}"
        )
    if learner.image_shape_ is not None and learner.image_shape_ != shape:
        height, width = learner.image_shape_[1:]
        same = height == width and learner.image_shape_[0] == shape[0]
        resize = f"add --image-size {height}, or " if same else ""
        raise InputError(
            f"the learner has images of {_by(learner.image_shape_)}, and those of "
            f"{config.dataset} are {_by(shape)}; {resize}give images of that shape"
        )


def _by(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))


def stored_protocol(begun: dict[str, Any] | None) -> Protocol | None:
    """Return the protocol in a run's config.json, or None if it has none."""
    kept = None if begun is None else begun.get("protocol")
    known = {one.name for one in fields(Protocol)}
    return None if kept is None else Protocol(**{k: v for k, v in kept.items() if k in known})


def load_splits(config: RunConfig, progress: Callable[[int, int], None] | None = None) -> Splits:
    """Return the train split, the test split or None, and why there is none."""

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
    if config.validation:
        return train, None, "validation"
    if train.labels is None:
        return train, None, "there are no labels"
    try:
        test = load("test")
    except NoSplitError:
        return train, None, f"{config.dataset} has no test split"
    if test.labels is None:
        return train, None, f"the test split of {config.dataset} has no labels"
    return train, test, ""


def _tell_skipped(skipped: tuple[str, ...]) -> list[str]:
    if not skipped:
        return []
    more = len(skipped) - SKIPPED_SHOWN
    return [
        f"files skipped because they are not readable images: {len(skipped)}",
        *(f"  {name}" for name in skipped[:SKIPPED_SHOWN]),
        *([f"  and {more} more"] if more > 0 else []),
    ]


def _tell_left_out(config: RunConfig, train: ImageSet, order: np.ndarray) -> list[str]:
    left = len(train) - len(order)
    if left == 0 or train.labels is None:
        return []
    most = np.bincount(train.labels[order]).max()
    return [
        f"{left} of {len(train)} images are left out: the stream {config.stream} takes at most "
        f"{most} of each class (see --samples-per-class)"
    ]
