"""Checks of a learner's answers to wrong input."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import torch
from torch import Tensor

from scale.methods import Learner
from scale.testing._subject import Subject, images, learn, state
from scale.testing._tools import differences, listed

UNUSABLE: dict[str, Any] = {
    "an empty batch": images(0),
    "a float array": images().astype(np.float32) / 255,
    "a float tensor": torch.rand(3, 1, 28, 28, generator=torch.Generator()),
    "a single image without a batch axis": images(1)[0],
    "images of 5 channels": images(2, shape=(5, 28, 28)),
    "no array": None,
}
UNFIT: dict[str, Any] = {
    "a batch of another size": images(shape=(1, 32, 32)),
    "a batch of other channels": images(shape=(3, 28, 28)),
}


def check_bad_images(method: type[Learner], **params: Any) -> None:
    """Images that it cannot use raise an `InputError` and change nothing."""
    subject = Subject(method, params)
    learner = subject.new()
    before = dict(vars(learner))
    for what, batch in UNUSABLE.items():
        _refused(subject, learner, what, batch)
        subject.require(vars(learner) == before, f"{what} changes a learner that has not started")
    subject.refuses(lambda: learner.save("never-written"), "to save before the first batch")
    learn(learner, images())
    kept = state(learner)
    for what, batch in {**UNUSABLE, **UNFIT}.items():
        _refused(subject, learner, what, batch)
        changed = differences(kept, state(learner))
        subject.require(not changed, f"{what} is refused, but changes {listed(changed)}")


def check_failed_start(method: type[Learner], **params: Any) -> None:
    """A failed start or first batch leaves a learner unchanged."""
    subject = Subject(method, params)
    learner = subject.new(device="abacus")
    before = dict(vars(learner))
    subject.refuses(lambda: learner.transform(images()), "a device that is not there")
    subject.refuses(lambda: learn(learner, images()), "a device that is not there")
    subject.require(vars(learner) == before, "a failed start leaves something behind")
    failing = _failing(method)(**vars(subject.new()))
    before = dict(vars(failing))
    with contextlib.suppress(_FailedError):
        learn(failing, images(shape=(3, 32, 32)))
    subject.require(
        vars(failing) == before,
        "a first batch that fails leaves something behind; leave partial_fit to scale.Learner",
    )
    learner.device = "cpu"
    learn(learner, images())
    changed = differences(subject.state_after(1), state(learner))
    subject.require(not changed, f"after a failed start it learns otherwise ({listed(changed)})")


def check_labels(method: type[Learner], **params: Any) -> None:
    """A learner that declares labels requires them; all others refuse them."""
    subject = Subject(method, params)
    learner = subject.new()
    before = dict(vars(learner))
    labels = None if learner.needs_labels else np.zeros(12, np.int64)
    what = "a batch without labels" if learner.needs_labels else "a batch with labels"
    subject.refuses(lambda: learner.partial_fit(images(), labels), what)
    subject.require(vars(learner) == before, f"{what} changes a learner that has not started")
    learn(learner, images())
    kept = state(learner)
    subject.refuses(lambda: learner.partial_fit(images(seed=1), labels), what)
    subject.require(not differences(kept, state(learner)), f"{what} is refused, but changes it")


def check_sklearn_params(method: type[Learner], **params: Any) -> None:
    """`set_params` sets parameters and refuses unknown ones; `sklearn.base.clone` works."""
    from sklearn.base import clone

    subject = Subject(method, params)
    learner: Any = subject.after(1)
    copied = clone(learner)
    subject.require(
        type(copied) is method and vars(copied).keys() == subject.new().get_params().keys(),
        "sklearn.base.clone does not give an unstarted learner of its class",
    )
    subject.require(
        {k: v for k, v in copied.get_params().items() if k != "encoder"}
        == {k: v for k, v in learner.get_params().items() if k != "encoder"},
        "sklearn.base.clone changes parameters",
    )
    subject.require(copied.set_params(seed=7) is copied, "set_params does not return the learner")
    subject.require(copied.get_params()["seed"] == 7, "set_params does not set the parameter")
    subject.refuses(lambda: copied.set_params(no_such_parameter=1), "an unknown parameter")


class _FailedError(Exception):
    """Raised in the middle of a first batch."""


def _failing(method: type[Learner]) -> Any:
    """Return a class that learns from a batch and then fails."""

    def fails(self: Any, batch: Tensor, labels: Tensor | None) -> None:
        method.learn(self, batch, labels)
        raise _FailedError

    return type(method.__name__, (method,), {"learn": fails})


def _refused(subject: Subject, learner: Learner, what: str, batch: Any) -> None:
    labels = np.zeros(12, np.int64) if learner.needs_labels else None
    subject.refuses(lambda: learner.partial_fit(batch, labels), f"partial_fit of {what}")
    subject.refuses(lambda: learner.transform(batch), f"transform of {what}")
