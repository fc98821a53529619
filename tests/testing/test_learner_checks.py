"""Each check finds the learner that breaks its rule, and says so in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from scale.methods import ER, METHODS, Pixels, SimCLR, register_method
from scale.testing import LEARNER_CHECKS, check_learner

CHECKS = {check.__name__: check for check in LEARNER_CHECKS}
SMALL = {"encoder": "cnn", "augmentation": "mnist", "steps_per_batch": 1}


class Unregistered(Pixels):
    pass


class HasPreset(Pixels):
    presets: ClassVar[dict[str, dict[str, Any]]] = {"fast": {"speed": 9}}


class NoDecorator(Pixels):
    speed: int = 3


@dataclass(kw_only=True)
class MadeReady(Pixels):
    def __post_init__(self) -> None:
        self.ready = True


class ChangesParameters(SimCLR):
    def partial_fit(self, images, labels=None):
        super().partial_fit(images, labels)
        self.lr = 0.5 * self.lr
        return self


class ReturnsNothing(Pixels):
    def partial_fit(self, images, labels=None):
        super().partial_fit(images, labels)


class Doubles(Pixels):
    def transform(self, images):
        return super().transform(images).astype(np.float64)


class Centres(Pixels):
    def transform(self, images):
        z = super().transform(images)
        return z - z.mean(axis=0)


class KeepsFeatures(Pixels):
    def transform(self, images):
        kept = vars(self).setdefault("kept", {})
        return kept.setdefault(images.tobytes(), super().transform(images))


class SaysItLearns(Pixels):
    learns: ClassVar[bool] = True


class SaysItIsSeeded(Pixels):
    seeded: ClassVar[bool] = True


class LearnsInTransform(SimCLR):
    def transform(self, images):
        z = super().transform(images)
        for parameter in self.projector_.parameters() if hasattr(self, "projector_") else ():
            parameter.data += 1
        return z


class DrawsInTransform(SimCLR):
    def transform(self, images):
        z = super().transform(images)
        self.draws_ = getattr(self, "draws_", 0) + 1
        return z + np.float32(self.draws_)


class DrawsGlobally(SimCLR):
    def partial_fit(self, images, labels=None):
        torch.rand(1)
        return super().partial_fit(images, labels)


class ForgetsItsGenerator(SimCLR):
    def state_dict(self):
        return {k: v for k, v in super().state_dict().items() if not k.startswith("view_rng")}

    def load_state_dict(self, state):
        super().load_state_dict({**super().state_dict(), **state})


class ForgetsACounter(SimCLR):
    def partial_fit(self, images, labels=None):
        super().partial_fit(images, labels)
        self.batches_ = getattr(self, "batches_", 0) + 1
        return self


class NeedsTwo(Pixels):
    def transform(self, images):
        z = super().transform(images)
        return z if len(z) > 1 else z * np.nan


class KeepsTheBatch(Pixels):
    def partial_fit(self, images, labels=None):
        super().partial_fit(images, labels)
        self.batch_ = torch.as_tensor(images)
        return self

    def state_dict(self):
        return {**super().state_dict(), "batch": self.batch_}


class ChangesTheBatch(Pixels):
    def partial_fit(self, images, labels=None):
        super().partial_fit(images, labels)
        images[0] = 0
        return self


class Hoards(ER):
    def partial_fit(self, images, labels=None):
        super().partial_fit(images, labels)
        self.memory_.size = 5
        return self


class TakesEmpty(Pixels):
    def partial_fit(self, images, labels=None):
        return self if images is not None and len(images) == 0 else super().partial_fit(images)


class OtherError(Pixels):
    def transform(self, images):
        return super().transform(np.asarray(images).astype(np.uint8))


class LeavesTraces(SimCLR):
    def partial_fit(self, images, labels=None):
        self.begun = True
        return super().partial_fit(images, labels)


class CountsReaders(SimCLR):
    readers: ClassVar[list[int]] = []

    def embed(self, batch):
        self.readers.append(len(batch))
        return super().embed(batch)

    def learn(self, batch, labels):
        super().learn(batch, labels)
        with torch.no_grad():
            next(self.projector_.parameters()).mul_(1 + len(self.readers))


class Peeks(Pixels):
    def partial_fit(self, images, labels=None):
        return super().partial_fit(images)


BROKEN = [
    ("check_registered", Unregistered, r"not registered.*@scale.register_method"),
    ("check_registered", HasPreset, "preset 'fast' sets speed, which is no parameter"),
    ("check_parameters", NoDecorator, r"speed is annotated but no parameter; add @dataclass"),
    ("check_parameters", MadeReady, "does more than store the parameters; move the rest to setup"),
    ("check_parameters", ChangesParameters, "learning changes its parameters"),
    ("check_parameters", ReturnsNothing, "partial_fit does not return the learner"),
    ("check_features", Doubles, "one float32 row per image"),
    ("check_features", Centres, "depend on the other images"),
    ("check_features", KeepsFeatures, "an array that the learner keeps; return a copy"),
    ("check_features", SaysItLearns, "learns is True, but learning does not change the features"),
    ("check_transform_is_pure", LearnsInTransform, r"transform changes projector\."),
    ("check_transform_is_pure", DrawsInTransform, "two calls of transform differ"),
    ("check_seeds", DrawsGlobally, "draws from a global generator"),
    ("check_seeds", SaysItIsSeeded, "seeded is True, but another seed gives the same features"),
    ("check_save_and_load", ForgetsItsGenerator, "going on from a file differs from not stopping"),
    ("check_everything_is_saved", ForgetsACounter, "batches_ is lost in a file"),
    ("check_batches", NeedsTwo, "does not learn from single images"),
    ("check_layouts", KeepsTheBatch, "batch depends on the layout .* or keeps the caller's array"),
    ("check_layouts", ChangesTheBatch, "changes the caller's images"),
    ("check_memory_is_bounded", Hoards, "memory_ holds 6 images, but its size is 5"),
    ("check_bad_images", TakesEmpty, "partial_fit of an empty batch is accepted"),
    ("check_bad_images", OtherError, r"transform of a float array is accepted"),
    ("check_failed_start", LeavesTraces, "a failed start leaves something behind"),
    ("check_threads", CountsReaders, "not that of a learner alone .* keep nothing in the class"),
    ("check_labels", Peeks, "a batch with labels is accepted"),
]


@pytest.fixture
def registered(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A class that is registered for the time of one test, if it is not the unregistered one."""
    method = request.param
    if method is not Unregistered:
        register_method("broken")(method)
    yield method
    METHODS._entries.pop("broken", None)


@pytest.mark.parametrize(
    ("check", "registered", "message"),
    BROKEN,
    ids=[f"{check}-{method.__name__}" for check, method, _ in BROKEN],
    indirect=["registered"],
)
def test_a_broken_rule_is_named(check: str, registered: Any, message: str) -> None:
    params = SMALL if issubclass(registered, SimCLR | ER) else {}
    with pytest.raises(AssertionError, match=f"^{registered.__name__}: .*{message}") as error:
        CHECKS[check](registered, **params)
    assert "\n" not in str(error.value)


def test_every_rule_can_be_broken() -> None:
    assert {check for check, _, _ in BROKEN} == CHECKS.keys() - {"check_sklearn_params"}


def test_all_rules_are_checked_at_once() -> None:
    with pytest.raises(AssertionError, match="not registered"):
        check_learner(Unregistered)


def test_a_parameter_that_the_class_does_not_have_is_named() -> None:
    with pytest.raises(AssertionError, match=r"Pixels has no parameter speed; check with .*device"):
        check_learner(Pixels, speed=3)


def test_a_module_of_the_users_own_is_checked_too() -> None:
    module = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten())
    grey = torch.nn.Sequential(_Grey(), *module, torch.nn.Linear(16, 8))
    for name in ("check_save_and_load", "check_everything_is_saved", "check_seeds"):
        CHECKS[name](ER, encoder=grey, steps_per_batch=1)


class _Grey(torch.nn.Module):
    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return images.mean(dim=1, keepdim=True)
