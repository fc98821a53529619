"""A loss that is not finite changes no weight."""

from __future__ import annotations

import pytest
import torch

from scale._errors import NonFiniteFeaturesError, NonFiniteLossError
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
def test_the_update_is_not_made_and_the_user_is_told(name):
    learner = fit(make(name), last=1)
    spoil(learner, float("nan"))
    before = trained(learner)
    with pytest.raises(NonFiniteLossError, match=r"not made; all .* near .* lr below 0\.03"):
        learn(learner, images(seed=1))
    assert differences(before, trained(learner)) == []


@pytest.mark.parametrize("name", ["scale", "er"])
def test_too_great_a_learning_rate_ends_in_that_error_with_finite_weights(name):
    learner = make(name, lr=1e30)
    learner.start((1, 28, 28))
    with pytest.raises(NonFiniteLossError):
        fit(learner, last=10)
    for parameter in learner.encoder_.parameters():
        assert torch.isfinite(parameter).all()


@pytest.mark.parametrize("name", ["scale", "er"])
def test_a_learner_whose_first_batch_fails_can_begin_again_with_other_parameters(name):
    learner = make(name, lr=1e30)
    start = learner.transform(images())
    with pytest.raises(NonFiniteLossError):
        learn(learner, images())
    assert (learner.transform(images()) == start).all()
    learner.lr = 0.03
    assert differences(state(learn(learner, images())), state(fit(make(name), last=1))) == []


@pytest.mark.parametrize("name", ["scale", "er"])
def test_features_that_are_not_finite_are_not_returned(name):
    learner = fit(make(name), last=2)
    with torch.no_grad():
        for parameter in learner.encoder_.parameters():
            parameter.fill_(float("nan"))
    with pytest.raises(NonFiniteFeaturesError, match=f"'{name}' are NaN .* earlier checkpoint"):
        learner.transform(images())


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"weight_decay": 1e30}, r"its default: weight_decay = 1e\+30 \(default 0\.0001\)"),
        ({"tau": 1e-40}, r"its default: tau = 1e-40 \(default 0\.1\)"),
        ({"lr": 1e30, "momentum": 0.0}, r"its default: lr = 1e\+30 \(default 0\.03\)"),
        ({"lr": 1e30, "lam": 1e30}, r"their defaults: .*lr = 1e\+30.*, lam = 1e\+30"),
    ],
)
def test_settings_far_from_their_defaults_are_named_and_no_others(given, told):
    with pytest.raises(NonFiniteLossError, match=f"far from {told}") as error:
        fit(make("scale", **given), last=3)
    assert ("lr" in given) == (" lr" in str(error.value))
