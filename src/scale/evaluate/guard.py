"""The guard: is a learner better than its start? An estimate without labels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from scale._errors import InputError
from scale._names import shown
from scale.augment import Augmentation
from scale.evaluate._checks import check_features, normalise
from scale.methods import ContrastiveLearner, Learner, Random

MOST_IMAGES = 512
FEWEST_IMAGES = 50  # with fewer, retrieval is too easy to mean anything
STANDARD_ERRORS = 2.0  # above which a difference counts
Transform = Callable[[Tensor], np.ndarray]


@dataclass(frozen=True)
class Guard:
    """View retrieval of a learner and of the encoder that it started from.

    Parameters
    ----------
    score
        `view_retrieval` on images of the learner's memory, in percent.
    start_score
        Score of the encoder before the first batch.
    images
        Number of images behind the scores.
    encoder_score
        Score of the encoder alone, if embeddings have other parts too; else None.

    Examples
    --------
    >>> print(Guard(41.0, 22.3, images=512))
    better than its start: yes (view retrieval 41 % against 22 %)
    >>> print(Guard(5.3, 4.1, images=512))
    better than its start: not clearly (view retrieval 5 % against 4 %)
    >>> print(Guard(41.0, 22.3, images=512, encoder_score=20.1))
    better than its start: yes (view retrieval 41 % against 22 %); its encoder alone: no (20 %)
    """

    score: float
    start_score: float
    images: int
    encoder_score: float | None = None

    @property
    def better(self) -> bool:
        """Whether the score is significantly above the start's."""
        return self._is_above_start(self.score)

    @property
    def encoder_better(self) -> bool:
        """Whether the score of the encoder alone is significantly above the start's."""
        return self._is_above_start(
            self.score if self.encoder_score is None else self.encoder_score
        )

    def _is_above_start(self, score: float) -> bool:
        both = (score / 100, self.start_score / 100)
        error = math.sqrt(sum(share * (1 - share) for share in both) / self.images)
        return score - self.start_score > 100 * STANDARD_ERRORS * error

    def _answer(self, score: float) -> str:
        if self._is_above_start(score):
            return "yes"
        return "not clearly" if score > self.start_score else "no"

    def __str__(self) -> str:
        text = (
            f"better than its start: {self._answer(self.score)} "
            f"(view retrieval {self.score:.0f} % against {self.start_score:.0f} %)"
        )
        if self.encoder_score is None:
            return text
        alone = f"{self._answer(self.encoder_score)} ({self.encoder_score:.0f} %)"
        return f"{text}; its encoder alone: {alone}"

    @classmethod
    def from_json(cls, kept: dict[str, Any]) -> Self:
        """Return the guard that `to_json` described."""
        return cls(kept["score"], kept["start_score"], kept["images"], kept.get("encoder_score"))

    def to_json(self) -> dict[str, Any]:
        """Return the guard as a dict for records."""
        kept = {name: value for name, value in asdict(self).items() if value is not None}
        kept["better"] = self.better
        return (
            kept if self.encoder_score is None else {**kept, "encoder_better": self.encoder_better}
        )


def guard(learner: Learner) -> Guard | None:
    """Compare a learner with its start on images of its memory, without labels.

    It draws one random view of each of at most 512 memory images. The learner and its untrained
    start retrieve the image of each view. So does the encoder alone, if embeddings have other
    parts too. The learner and its generators do not change, and equal learners get equal answers.

    Returns
    -------
    Guard or None
        None if there is no memory, if it has fewer than 50 images, or if the augmentation changes
        nothing.

    Examples
    --------
    >>> from scale.methods import ER
    >>> camera = np.random.default_rng(0).integers(0, 256, (60, 1, 28, 28), dtype=np.uint8)
    >>> learner = ER(encoder="cnn", augmentation="mnist", steps_per_batch=1)
    >>> guard(learner) is None
    True
    >>> 0 <= guard(learner.partial_fit(camera)).start_score <= 100
    True
    """
    if not isinstance(learner, Learner):
        raise InputError(f"learner must be a learner, got {shown(learner)}")
    with learner.reading() as still:
        return _guard(still)


def _guard(learner: Learner) -> Guard | None:
    if not isinstance(learner, ContrastiveLearner) or learner.memory_ is None:
        return None  # no encoder, no memory, or no image yet
    law = replace(learner.augmentation_, size=None)  # views of the images' size
    held = learner.memory_.images
    if len(held) < FEWEST_IMAGES or law == Augmentation():
        return None
    generator = torch.Generator().manual_seed(0)  # a new one: the learner's must not change
    images = held[torch.randperm(len(held), generator=generator)[:MOST_IMAGES]]
    views = (law(images, generator) * 255).round().to(torch.uint8)
    alone = None if learner.embeds_by_encoder else _percent_found(learner.encode, images, views)
    return Guard(
        score=_percent_found(learner.transform, images, views),
        start_score=_percent_found(_start_of(learner), images, views),
        images=len(images),
        encoder_score=alone,
    )


def view_retrieval(views: Any, images: Any) -> float:
    """Return the fraction of views whose nearest image, by cosine, is their own.

    Parameters
    ----------
    views, images
        Features, ``(N, D)`` each; view i is a view of image i.

    Examples
    --------
    >>> view_retrieval([[0.9, 0.1], [0.8, 0.2]], [[1.0, 0.0], [0.0, 1.0]])
    0.5
    """
    of_views = normalise(check_features(views, "views"))
    of_images = normalise(check_features(images, "images"))
    if of_views.shape != of_images.shape:
        raise InputError(
            f"features of views have shape {of_views.shape}, those of images {of_images.shape}; "
            "expected one view of each image"
        )
    nearest = (of_views @ of_images.T).argmax(axis=1)  # (N,)
    return float((nearest == np.arange(len(nearest))).mean())


def _start_of(learner: ContrastiveLearner) -> Transform:
    """Return the transform of the encoder before the first batch."""
    if isinstance(learner.start_encoder_, nn.Module):
        return learner.encode_by_start
    start = Random(
        encoder=learner.start_encoder_,
        image_side=learner.augmentation_.size,
        seed=learner.seed,
        device=learner.device,
    )
    assert learner.image_shape_ is not None  # it has a memory, so it has started
    start.start(learner.image_shape_)
    return start.transform


def _percent_found(embed: Transform, images: Tensor, views: Tensor) -> float:
    return 100 * view_retrieval(embed(views), embed(images))
