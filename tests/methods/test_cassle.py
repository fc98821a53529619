from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn

from scale._errors import InputError
from scale.methods import load
from tests.losses import slow

from .learners import differences, fit, images, make, state


def model(learner) -> dict[str, Tensor]:
    """A copy of all weights and statistics of encoder and projector."""
    both = nn.Sequential(learner.encoder_, learner.projector_)
    return {name: tensor.clone() for name, tensor in both.state_dict().items()}


def past(learner) -> dict[str, Tensor]:
    """A copy of all weights and statistics of the model before this batch."""
    both = nn.Sequential(learner.past_.encoder, learner.past_.projector)
    return {name: tensor.clone() for name, tensor in both.state_dict().items()}


def predictor(learner) -> dict[str, Tensor]:
    return {
        name: tensor.clone() for name, tensor in learner.heads_["predictor"].state_dict().items()
    }


@pytest.mark.parametrize("views", ["once", "anew"])
def test_the_teacher_is_the_model_after_the_previous_batch_and_does_not_move(views):
    learner = make("cassle", views=views, steps_per_batch=3)
    teachers = []
    fit(learner, last=1)
    learner.past_.encoder.register_forward_hook(  # once for each pass of the past encoder
        lambda *call: teachers.append(past(learner))
    )
    for batch in range(1, 4):
        before = model(learner)
        fit(learner, batch, batch + 1)
        assert len(teachers) == (1 if views == "once" else 3)
        for teacher in [*teachers, past(learner)]:
            assert differences(before, teacher) == []
        assert differences(before, model(learner)) != []
        teachers.clear()


def test_the_first_batch_has_no_teacher_and_equals_simclr():
    cassle, simclr = fit(make("cassle"), last=1), fit(make("simclr"), last=1)
    assert differences(model(cassle), model(simclr)) == []
    assert "distillation" not in cassle.diagnostics_
    fresh = make("cassle")
    fresh.start((1, 28, 28))
    assert differences(predictor(cassle), predictor(fresh)) == []
    assert fit(cassle, 1, 2).diagnostics_["distillation"] > 0


def test_without_weight_it_equals_simclr():
    cassle, simclr = fit(make("cassle", lam=0.0)), fit(make("simclr"))
    assert differences(model(cassle), model(simclr)) == []
    assert differences(model(fit(make("cassle"))), model(simclr)) != []


@pytest.mark.parametrize("views", ["once", "anew"])
def test_the_loss_is_simclr_and_the_distillation_of_the_predicted_past(views):
    options = {"augmentation": "none", "steps_per_batch": 1, "views": views}
    options |= {"tau": 0.3, "kappa": 0.15, "lam": 0.7}
    learner = fit(make("cassle", **options), last=3)
    pixels = (torch.from_numpy(images(seed=7)).repeat(2, 1, 1, 1).float() / 255 - 0.5) / 0.25
    now, head = (
        copy.deepcopy(part)
        for part in (
            nn.Sequential(learner.encoder_, learner.projector_),
            learner.heads_["predictor"],
        )
    )
    with torch.no_grad():
        z = now.train()(pixels)  # (2n, 128)
        predicted = head.train()(z).double().numpy()
        # Training moved the statistics of this copy's BatchNorm, not the learner's.
        both = nn.Sequential(learner.encoder_, learner.projector_)
        past = copy.deepcopy(both).eval()(pixels).double().numpy()
    learner.partial_fit(images(seed=7))
    n = len(pixels) // 2
    twins = [{slow.twin(i, n)} for i in range(2 * n)]
    contrastive = slow.contrastive(z.double().numpy(), twins, 0.3)
    distillation = slow.contrastive_distillation(predicted, past, 0.15)
    got = learner.diagnostics_
    assert got["contrastive"] == pytest.approx(contrastive, rel=1e-4)
    assert got["distillation"] == pytest.approx(distillation, rel=1e-4)
    assert got["loss"] == pytest.approx(contrastive + 0.7 * distillation, rel=1e-4)


def test_the_predictor_has_the_published_shape_and_learns():
    learner = fit(make("cassle", steps_per_batch=10, predictor_dim=2048), last=1)
    shapes = [tuple(p.shape) for p in learner.heads_["predictor"].parameters()]
    assert shapes == [(2048, 128), (2048,), (2048,), (2048,), (128, 2048), (128,)]
    before = predictor(learner)
    first = learner.partial_fit(images(seed=1)).diagnostics_["distillation"]
    assert set(differences(before, predictor(learner))) == set(before)
    for _ in range(2):
        learner.partial_fit(images(seed=1))
    assert learner.diagnostics_["distillation"] < first


def test_a_predictor_does_not_change_the_weights_that_others_start_from():
    cassle, simclr = make("cassle"), make("simclr")
    for learner in (cassle, simclr):
        learner.start((1, 28, 28))
    assert differences(model(cassle), model(simclr)) == []


def test_it_keeps_no_images():
    learner = fit(make("cassle"))
    assert learner.memory_ is None
    assert not any(name.startswith("memory") for name in learner.get_params())
    assert learner.costs().memory == "none"


def test_it_goes_on_from_a_file_in_views_drawn_once(tmp_path):
    whole = fit(make("cassle", views="once"), last=1)
    whole.save(tmp_path / "learner")
    resumed = load(tmp_path / "learner")
    for learner in (whole, resumed):
        fit(learner, 1, 3)
    assert differences(state(whole), state(resumed)) == []
    assert whole.diagnostics_ == resumed.diagnostics_


@pytest.mark.parametrize(
    ("parameter", "value"), [("tau", 0.0), ("kappa", -1.0), ("lam", -0.1), ("predictor_dim", 0)]
)
def test_a_parameter_that_makes_no_sense_is_named(parameter, value):
    with pytest.raises(InputError, match=parameter):
        make("cassle", **{parameter: value}).partial_fit(images())
