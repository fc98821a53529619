"""A method with weights of its own: what `heads` returns is trained and saved, and what is
forgotten is an error."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from scale._errors import ContractError
from scale.memory import Memory
from scale.methods import ContrastiveLearner

from .learners import images

SMALL = {"encoder": "cnn", "augmentation": "mnist", "steps_per_batch": 2}


@dataclass(kw_only=True)
class Base(ContrastiveLearner):
    """Minimises the squared projections, through a linear layer of its own if there is one."""

    name = "base"

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        for views in self.updates(batch):
            z = self.project(views)
            for head in self.heads_.values():
                z = head(z)
            self.step({"loss": z.square().mean()})


@dataclass(kw_only=True)
class WithHead(Base):
    name = "with-head"

    def heads(self) -> dict[str, nn.Module]:
        return {"linear": nn.Linear(self.projection_dim, 4)}


def test_a_head_is_trained_saved_and_drawn_from_the_learners_seed():
    before = torch.get_rng_state()
    first, second, other = (WithHead(seed=seed, **SMALL) for seed in (1, 1, 2))
    for learner in (first, second, other):
        learner.start((1, 28, 28))
    weights = [learner.heads_["linear"].weight.clone() for learner in (first, second, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert torch.equal(torch.get_rng_state(), before)
    first.partial_fit(images())
    assert not torch.equal(first.heads_["linear"].weight, weights[0])
    assert torch.equal(first.state_dict()["heads.linear.weight"], first.heads_["linear"].weight)


def test_a_head_does_not_change_the_weights_that_others_start_from():
    plain, headed = Base(**SMALL), WithHead(**SMALL)
    for learner in (plain, headed):
        learner.start((1, 28, 28))
    assert torch.equal(
        plain.state_dict()["projector.0.weight"], headed.state_dict()["projector.0.weight"]
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: nn.Linear(2, 2).requires_grad_(False),
        lambda: torch.optim.SGD([torch.zeros(1)]),
        torch.Generator,
        lambda: Memory(4, "fifo", torch.Generator()),
    ],
    ids=["module", "optimiser", "generator", "memory"],
)
def test_state_that_parts_do_not_name_is_an_error(make):
    @dataclass(kw_only=True)
    class Forgetful(Base):
        name = "forgetful"

        def setup(self, image_shape):
            super().setup(image_shape)
            self.extra_ = make()

    learner = Forgetful(**SMALL)
    with pytest.raises(ContractError, match=r"Forgetful.extra_ would not be saved"):
        learner.partial_fit(images())
    assert learner.image_shape_ is None


def test_weights_that_nothing_trains_are_an_error():
    @dataclass(kw_only=True)
    class Idle(Base):
        name = "idle"

        def setup(self, image_shape):
            super().setup(image_shape)
            self.extra_ = nn.Linear(2, 2)

        def parts(self):
            return {**super().parts(), "extra": self.extra_}

    with pytest.raises(ContractError, match=r"Idle.extra_ has weights that no update changes"):
        Idle(**SMALL).partial_fit(images())


@pytest.mark.parametrize("calls", [0, 2])
def test_an_update_needs_exactly_one_step(calls):
    @dataclass(kw_only=True)
    class Careless(Base):
        name = "careless"

        def learn(self, batch, labels):
            for views in self.updates(batch):
                for _ in range(calls):
                    self.step({"loss": self.project(views).square().mean()})

    with pytest.raises(ContractError, match=r"must call step\(\) exactly once"):
        Careless(**SMALL).partial_fit(images())
