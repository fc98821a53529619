"""Small cheap learners of every registered method, and images for them."""

from __future__ import annotations

import dataclasses
import functools
import random
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scale.methods import METHODS, Learner

SMALL: dict[str, Any] = {
    "encoder": "cnn",
    "augmentation": "mnist",
    "memory_size": 20,
    "memory_batch": 8,
    "steps_per_batch": 2,
    "clusters": 20,
    "delta": 60,
    "theta": 3,
    "long_term_size": 20,
    "column_every": 2,
    "consolidate_every": 2,
}


def make(name: str, **params: Any) -> Learner:
    """Return a small learner; of the small defaults those that the method knows."""
    known = {field.name for field in dataclasses.fields(METHODS[name])}
    small = {key: value for key, value in SMALL.items() if key in known}
    return METHODS[name](**{**small, **params})


def images(n: int = 12, seed: int = 0, shape: tuple[int, ...] = (1, 28, 28)) -> np.ndarray:
    """Random grey images, n x c x h x w uint8."""
    return np.random.default_rng(seed).integers(0, 256, (n, *shape), dtype=np.uint8)


def fit(learner: Learner, first: int = 0, last: int = 4) -> Learner:
    """Let a learner see batches `first` to `last` of one stream; two overfill the memory."""
    for seed in range(first, last):
        learn(learner, images(seed=seed))
    return learner


def learn(learner: Learner, batch: np.ndarray | Tensor) -> Learner:
    """Let a learner see a batch; with labels, made up, when it is one that needs them."""
    labels = np.arange(len(batch)) % 3 if learner.needs_labels else None
    return learner.partial_fit(batch, labels)


@functools.cache
def seen(name: str, last: int = 2) -> Learner:
    """A learner after `last` batches: one for all the checks that only look at it."""
    return fit(make(name), last=last)


@functools.cache
def state_after(name: str, last: int) -> dict[str, Tensor]:
    """The state of a learner that saw `last` batches as plain arrays and was not asked anything."""
    return state(fit(make(name), last=last))


def state(learner: Learner) -> dict[str, Tensor]:
    """A copy of everything the learner knows."""
    return {name: tensor.clone() for name, tensor in learner.state_dict().items()}


def differences(a: dict[str, Tensor], b: dict[str, Tensor]) -> list[str]:
    """Names of the tensors that are not equal bit for bit."""
    return sorted(
        name
        for name in a.keys() | b.keys()
        if name not in a or name not in b or not _same_bits(a[name], b[name])
    )


def _same_bits(a: Tensor, b: Tensor) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    as_bytes = [t.contiguous().reshape(-1).view(torch.uint8) for t in (a, b)]
    return torch.equal(*as_bytes)


def global_random_state() -> tuple[Any, ...]:
    """The state of every generator that a program shares, comparable with ==."""
    name, keys, *rest = np.random.get_state()  # noqa: NPY002
    return random.getstate(), (name, keys.tolist(), *rest), torch.get_rng_state().tolist()
