"""Small cheap learners of every registered method, and images for them."""

from __future__ import annotations

import dataclasses
from typing import Any

from scale.methods import METHODS, Learner
from scale.testing import _subject
from scale.testing._subject import images, learn, state
from scale.testing._tools import differences, global_random_state

__all__ = [
    "SMALL",
    "differences",
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
    "clusters": 20,
    "delta": 60,
    "theta": 3,
    "long_term_size": 20,
    "column_every": 2,
    "consolidate_every": 2,
}


def make(name: str, **params: Any) -> Learner:
    """Return a small learner of a method."""
    return METHODS[name](**{**small_params(name), **params})


def small_params(name: str) -> dict[str, Any]:
    """Return the small parameters that a method has."""
    known = {field.name for field in dataclasses.fields(METHODS[name])}
    return {key: value for key, value in SMALL.items() if key in known}


def fit(learner: Learner, first: int = 0, last: int = 4) -> Learner:
    """Let a learner see batches `first` to `last` of one stream; two overfill the memory."""
    return _subject.fit(learner, first, last)
