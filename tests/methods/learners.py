"""Small cheap learners of every registered method, and images for them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import pytest

from scale.methods import METHODS, Learner
from scale.testing import _subject
from scale.testing._subject import images, learn, state
from scale.testing._tools import differences, global_random_state

__all__ = [
    "SMALL",
    "differences",
    "first_only",
    "fit",
    "global_random_state",
    "images",
    "learn",
    "make",
    "small_params",
    "state",
]
SMALL: dict[str, Any] = {
    **_subject.SMALL,
    "precision": "fp32",  # formulas hold to rounding, on every processor
    "clusters": 20,
    "delta": 60,
    "theta": 3,
    "long_term_size": 20,
    "predictor_dim": 64,
    "column_every": 2,
    "consolidate_every": 2,
    "width": 4,
    "latents": 6,
}

SMALL_OF: dict[str, dict[str, Any]] = {
    # Every image is poor, so every batch opens a component.
    "curl": {"max_components": 3, "expansion_images": 10, "wait": 0, "poor_nats": 0.0},
    "vase": {"max_environments": 3, "burn_in": 0, "kappa": 0.0, "snapshot_updates": 3},
    "ccsl": {"queue": 50, "extra_queue": 20},
    "kiera": {"max_width": 24, "max_layers": 3, "max_centroids": 40, "chunk": 4},
    # Unrelated images: from those it learns only with motion of its own.
    "coherence": {"motion": "synthetic", "synthetic_frames": 2, "dim": 4, "edges": 50, "lr": 0.1},
    "cmp": {"patches": 3},
    "storyboard": {"short_share": 0.7, "segment_length": 4},
    "randum": {"features": 30},
    "pseudo-labels": {"clusters": 3, "max_classes": 8},
    "lvaegan": {"max_domains": 3, "novelty": 0.0, "snapshot_every": 2},
}
"""Parameters of one method, which let it grow on the few images of a test."""


FIRST = {"scale-plus", "er", "supcon", "stam", "pnn", "patches", "pixels"}
"""Methods of every kind: with and without an encoder, a memory, labels, growth. CI checks all."""


def first_only(names: Iterable[str]) -> list[Any]:
    """Return parameters of a test of every method, of which the default suite takes a few."""
    return [pytest.param(name, marks=() if name in FIRST else pytest.mark.slow) for name in names]


def make(name: str, **params: Any) -> Learner:
    """Return a small learner of a method."""
    return METHODS[name](**{**small_params(name), **params})


def small_params(name: str) -> dict[str, Any]:
    """Return the small parameters that a method has."""
    known = {field.name for field in dataclasses.fields(METHODS[name])}
    small = {key: value for key, value in SMALL.items() if key in known}
    return {**small, **SMALL_OF.get(name, {})}


def fit(learner: Learner, first: int = 0, last: int = 4) -> Learner:
    """Let a learner see batches `first` to `last` of one stream; two overfill the memory."""
    return _subject.fit(learner, first, last)
