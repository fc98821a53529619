"""A loss that is not finite changes no weight."""

from __future__ import annotations

import pytest
import torch

from scale._errors import NonFiniteLossError
from scale.methods import METHODS, ContrastiveLearner

from .learners import differences, fit, images, learn, make, state

GRADIENT = [name for name in METHODS if issubclass(METHODS[name], ContrastiveLearner)]


def spoil(learner: ContrastiveLearner, value: float) -> None:
    with torch.no_grad():
        next(learner.encoder_.parameters()).view(-1)[0] = value


def trained(learner: ContrastiveLearner) -> dict[str, torch.Tensor]:
    """Weights and momenta, without running statistics and generators."""
    names = {f"encoder.{name}" for name, _ in learner.encoder_.named_parameters()}
    return {
        name: tensor
        for name, tensor in state(learner).items()
        if name in names or name.startswith(("projector.", "optimizer.", "memory."))
        if name != "memory_rng.state"
    }


@pytest.mark.parametrize("name", GRADIENT)
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_the_update_is_not_made_and_the_user_is_told(name, value):
    learner = fit(make(name), last=1)
    spoil(learner, value)
    before = trained(learner)
    with pytest.raises(NonFiniteLossError, match=r"update was not made.*learning rate below 0\.03"):
        learn(learner, images(seed=1))
    assert differences(before, trained(learner)) == []


@pytest.mark.parametrize("name", GRADIENT)
def test_too_great_a_learning_rate_ends_in_that_error_with_finite_weights(name):
    learner = make(name, lr=1e30)
    with pytest.raises(NonFiniteLossError):
        fit(learner, last=10)
    for parameter in learner.encoder_.parameters():
        assert torch.isfinite(parameter).all()
