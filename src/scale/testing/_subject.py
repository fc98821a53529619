"""The learner that a check runs: small, with generated images."""

from __future__ import annotations

import dataclasses
import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from scale._errors import InputError
from scale.methods import Learner, load
from scale.testing._tools import listed, require

SMALL: dict[str, Any] = {
    "encoder": "cnn",
    "augmentation": "mnist",
    "steps_per_batch": 2,
    "memory_size": 20,
    "memory_batch": 8,
}
"""Parameters that keep checks fast: two batches of 12 images overfill the memory."""


def images(n: int = 12, seed: int = 0, shape: tuple[int, ...] = (1, 28, 28)) -> np.ndarray:
    """Return random images, n x c x h x w uint8."""
    return np.random.default_rng(seed).integers(0, 256, (n, *shape), dtype=np.uint8)


class Subject:
    """A learner's class and the parameters to check it with.

    Parameters
    ----------
    method
        The class.
    params
        Its parameters. Those of `SMALL` that the class has are filled in.
    """

    def __init__(self, method: type[Learner], params: dict[str, Any]) -> None:
        known = {field.name for field in dataclasses.fields(method)}
        require(
            params.keys() <= known,
            f"{method.__name__} has no parameter {listed(sorted(params.keys() - known))}; "
            f"check with parameters that it has: {listed(sorted(known), most=99)}",
        )
        self.method = method
        self.name = method.__name__
        small = {name: value for name, value in SMALL.items() if name in known}
        self.params = {**small, **params}

    def new(self, **changes: Any) -> Learner:
        """Return a learner that has seen nothing."""
        return self.method(**{**self.params, **changes})

    def after(self, batches: int, **changes: Any) -> Learner:
        """Return a learner after that many batches of the test stream."""
        return fit(self.new(**changes), 0, batches)

    def state_after(self, batches: int) -> dict[str, Tensor]:
        """Return the state of an undisturbed learner after that many batches."""
        try:
            return _state_after(self.method, tuple(sorted(self.params.items())), batches)
        except TypeError:  # a parameter that cannot be a key
            return state(self.after(batches))

    def require(self, kept: bool, broken: str) -> None:
        """Raise an `AssertionError` with the class and `broken` unless the rule is kept."""
        require(kept, f"{self.name}: {broken}")

    def refuses(self, call: Callable[[], object], what: str) -> None:
        """Require that a call raises an `InputError`."""
        try:
            call()
        except InputError:
            return
        except Exception as error:
            raise AssertionError(
                f"{self.name}: {what} raises {type(error).__name__} ({error}); raise an "
                "InputError before anything is changed"
            ) from error
        raise AssertionError(
            f"{self.name}: {what} is accepted; leave partial_fit and transform to scale.Learner, "
            "which raises an InputError"
        )


@functools.lru_cache(maxsize=8)
def _state_after(method: type[Learner], params: Any, batches: int) -> dict[str, Tensor]:
    return state(Subject(method, dict(params)).after(batches))


def fit(learner: Learner, first: int, last: int) -> Learner:
    """Learn batches `first` to `last` - 1 of the test stream; return the learner."""
    for seed in range(first, last):
        learn(learner, images(seed=seed))
    return learner


def learn(learner: Learner, batch: Any) -> Learner:
    """Learn a batch, with made-up labels if the learner needs labels; return the learner."""
    labels = np.arange(len(batch)) % 3 if learner.needs_labels else None
    return learner.partial_fit(batch, labels)


def state(learner: Learner) -> dict[str, Tensor]:
    """Return a copy of everything that the learner saves."""
    return {name: tensor.clone() for name, tensor in learner.state_dict().items()}


def saved_and_loaded(learner: Learner) -> tuple[Learner, bytes]:
    """Return the learner after saving and loading, and the file's bytes."""
    encoder = learner.get_params().get("encoder")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "learner.safetensors"
        learner.save(path)
        loaded = load(path, encoder=None if isinstance(encoder, str) else encoder)
        return loaded, path.read_bytes()
