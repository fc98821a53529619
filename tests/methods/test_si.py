"""SI against its formulas, written out, and against SimCLR."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from scale._errors import InputError, NonFiniteLossError
from scale.methods import SI, SimCLR, load

from .learners import differences, fit, images, make, state

IMAGES = images(2, shape=(1, 8, 8))


@dataclass(kw_only=True)
class Bowl(SI):
    """The loss is a quadratic of the weights: half the sum of curvature x weight²."""

    augmentation: str = "none"
    weight_decay: float = 0.0

    def losses(self, stream_views: Tensor) -> dict[str, Tensor]:
        weights = torch.cat([p.flatten() for p in self.trained()])
        return {"loss": (curvature(len(weights)) * weights.square()).sum() / 2}


def curvature(size: int) -> Tensor:
    return torch.linspace(0.2, 2, size)


def bowl(**params: object) -> Bowl:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        encoder = nn.Sequential(nn.AvgPool2d(4), nn.Flatten(), nn.Linear(4, 3))
    learner = Bowl(encoder=encoder, **params)  # type: ignore[arg-type]
    learner.start((1, 8, 8))
    return learner


def flat(tensors: object) -> np.ndarray:
    return torch.cat([t.detach().flatten() for t in tensors]).double().numpy()  # type: ignore[attr-defined]


def weights(learner: SimCLR) -> np.ndarray:
    return flat(learner.trained())


def test_credit_is_the_path_integral_of_gradient_descent_on_a_quadratic():
    learner = bowl(lr=0.1, momentum=0.0, steps_per_batch=7)
    start = weights(learner)
    a = curvature(len(start)).double().numpy()
    learner.partial_fit(IMAGES)
    shrink = (1 - 0.1 * a) ** 2  # of weight², in each step
    expected = a * start**2 * (1 - shrink**7) / (2 - 0.1 * a)
    np.testing.assert_allclose(flat(learner._credit), expected, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_credit_is_each_weights_share_of_the_losss_fall_when_steps_are_small(momentum):
    learner = bowl(lr=1e-4, momentum=momentum, steps_per_batch=100)
    start = weights(learner)
    a = curvature(len(start)).double().numpy()
    learner.partial_fit(IMAGES)
    fall = a * (start**2 - weights(learner) ** 2) / 2
    np.testing.assert_allclose(flat(learner._credit), fall, rtol=2e-2, atol=1e-7)
    np.testing.assert_allclose(flat(learner._credit).sum(), fall.sum(), rtol=2e-3)


def test_weights_and_importance_are_those_of_the_formulas_over_several_consolidations():
    c, xi, lr, momentum, decay = 3.0, 0.1, 0.05, 0.9, 0.01
    learner = bowl(
        c=c, xi=xi, lr=lr, momentum=momentum, weight_decay=decay, steps_per_batch=3,
        consolidate_every=2,
    )  # fmt: skip
    w = weights(learner)
    a = curvature(len(w)).double().numpy()
    reference, importance, credit, velocity = w.copy(), 0 * w, 0 * w, 0 * w
    climbed = False  # momentum carries some weights over the bottom: relu matters
    for batch in range(9):
        for _ in range(3):
            gradient = a * w
            pull = 2 * c * importance * (w - reference)
            velocity = momentum * velocity + gradient + pull + decay * w
            credit += -gradient * (-lr * velocity)
            w = w - lr * velocity
        if batch % 2 == 1:
            climbed |= bool((credit < -1e-4).any())
            importance += np.maximum(credit, 0) / ((w - reference) ** 2 + xi)
            reference, credit = w.copy(), 0 * w
        learner.partial_fit(IMAGES)
        close = {"rtol": 1e-3, "atol": 1e-6}
        np.testing.assert_allclose(weights(learner), w, **close)
        np.testing.assert_allclose(flat(learner._importance), importance, **close)
        np.testing.assert_allclose(flat(learner._reference), reference, **close)
        np.testing.assert_allclose(flat(learner._credit), credit, **close)
    assert climbed


def test_the_penalty_is_its_formula_and_zero_until_the_first_consolidation():
    learner = make("si", consolidate_every=2)
    for batch in range(2):
        fit(learner, batch, batch + 1)
        assert learner.diagnostics_["penalty"] == 0
        assert learner.diagnostics_["loss"] == learner.diagnostics_["contrastive"]
    fit(learner, 2, 3)
    assert learner.diagnostics_["penalty"] > 0
    views = torch.randn(8, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    moved = weights(learner) - flat(learner._reference)
    expected = 0.4 * (flat(learner._importance) * moved**2).sum()
    found = learner.losses(views)
    np.testing.assert_allclose(found["penalty"].item(), expected, rtol=1e-4)
    torch.testing.assert_close(found["loss"], found["contrastive"] + found["penalty"])


@pytest.mark.parametrize("params", [{"c": 0.0, "consolidate_every": 1}, {"consolidate_every": 4}])
def test_without_a_penalty_it_equals_simclr(params):
    si, simclr = fit(make("si", **params)), fit(make("simclr"))
    mine, plain = state(si), state(simclr)
    assert differences({name: mine[name] for name in plain}, plain) == []


def test_with_a_penalty_it_differs_from_simclr():
    assert not np.array_equal(
        weights(fit(make("si", consolidate_every=1, c=100.0))), weights(fit(make("simclr")))
    )


@pytest.mark.parametrize("stop", [3, 4])
def test_saving_and_loading_between_and_at_consolidations_equals_not_stopping(stop, tmp_path):
    whole = fit(make("si", consolidate_every=2), last=stop)
    assert (flat(whole._credit) != 0).any() == (stop == 3)
    whole.save(tmp_path / "learner")
    resumed = load(tmp_path / "learner")
    for learner in (whole, resumed):
        fit(learner, stop, stop + 3)
    assert differences(state(whole), state(resumed)) == []
    assert resumed.diagnostics_ == whole.diagnostics_


def test_weights_that_are_frozen_or_unused_gain_no_importance():
    class Partly(nn.Sequential):
        def forward(self, input: Tensor) -> Tensor:
            *used, _ = self
            return nn.Sequential(*used)(input)

    encoder = Partly(
        nn.AvgPool2d(4), nn.Flatten(), nn.Linear(49, 9), nn.Linear(9, 9), nn.Linear(2, 2)
    )
    encoder[2].requires_grad_(False)
    learner = fit(make("si", encoder=encoder, consolidate_every=1), last=3)
    gained = [bool((omega > 0).any()) for omega in learner._importance]
    assert gained == [True, True, False, False, True, True, True, True]  # frozen ones have none


def test_an_update_that_is_not_made_gives_no_credit():
    learner = fit(make("si"), last=2)
    with torch.no_grad():
        next(learner.encoder_.parameters()).view(-1)[0] = float("nan")
    before = flat(learner._credit)
    with pytest.raises(NonFiniteLossError):
        fit(learner, 2, 3)
    np.testing.assert_array_equal(flat(learner._credit), before)


def test_a_penalty_that_is_not_finite_stops_the_update():
    learner = fit(make("si", consolidate_every=1), last=2)
    next(iter(learner._importance)).fill_(float("inf"))
    before = weights(learner)
    with pytest.raises(NonFiniteLossError):
        fit(learner, 2, 3)
    np.testing.assert_array_equal(weights(learner), before)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"c": -1}, "c must be 0 or more, got -1"),
        ({"xi": 0}, "xi must be above 0, got 0"),
        ({"consolidate_every": 0}, "consolidate_every must be 1 or more, got 0"),
    ],
)
def test_values_that_make_no_sense_are_refused(params, message):
    with pytest.raises(InputError, match=message):
        make("si", **params).partial_fit(images())


def test_it_says_what_it_keeps():
    assert make("si").costs().memory == "3 copies of the weights"
    learner = fit(make("si"), last=1)
    kept = [*learner._reference, *learner._importance, *learner._credit]
    assert sum(t.numel() for t in kept) == 3 * len(weights(learner))
