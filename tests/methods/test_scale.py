from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from scale._errors import InputError
from scale.losses import dot_products, symmetric_sne
from scale.memory import POLICIES
from scale.methods import SCALE, load
from tests.losses import slow

from .learners import differences, fit, images, make, state

OPTIONS = [
    {"views": "once"},
    {"views": "anew"},
    {"lam_relative": True},
    {"kappa_past": 0.01},
    {"forgetting_direction": "current-to-past"},
    {"memory_anchors": False},
    {"lam": 0.0},
    {"memory_size": 0},
    {"memory_batch": 0},
    {"momentum": 0.0},
    {"projection_dim": 16},
    {"augmentation": "none"},
    *({"memory_policy": policy} for policy in POLICIES),
    *SCALE.presets.values(),
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_option_learns_with_finite_losses(options):
    learner = fit(make("scale", **options))
    assert {"loss", "contrastive", "pseudo_positives"} <= learner.diagnostics_.keys()
    assert ("forgetting" in learner.diagnostics_) == (options.get("lam") != 0)
    assert np.isfinite(list(learner.diagnostics_.values())).all()
    assert learner.diagnostics_["pseudo_positives"] >= 1


@pytest.mark.parametrize(
    "options",
    [{"views": "once"}, {"lam_relative": True}, {"views": "once", "lam_relative": True}],
    ids=str,
)
def test_every_option_goes_on_from_a_file_as_if_never_stopped(options, tmp_path):
    whole = fit(make("scale", **options), last=4)
    whole.save(tmp_path / "learner")
    resumed = load(tmp_path / "learner")
    assert resumed.get_params() == whole.get_params()
    for learner in (whole, resumed):
        fit(learner, 4, 6)
    assert differences(state(whole), state(resumed)) == []
    assert whole.diagnostics_ == resumed.diagnostics_


# Without augmentation and with all of memory replayed, a loss can be computed from outside.
PLAIN = {
    "memory_size": 40,
    "augmentation": "none",
    "memory_batch": 40,
    "memory_policy": "fifo",
    "steps_per_batch": 1,
}


def projections(learner, batch, train):
    """Both views of the batch, then both of memory, as float64 projections; and n, m."""
    stream = torch.from_numpy(batch)
    memory = learner.memory_.images
    views = torch.cat([stream, stream, memory, memory]).float()
    encoder = copy.deepcopy(learner.encoder_).train(train)
    projector = copy.deepcopy(learner.projector_).train(train)
    with torch.no_grad():
        z = projector(encoder((views / 255 - 0.5) / 0.25)).double()
    return z.numpy(), len(stream), len(memory)


def test_without_pseudo_positives_and_forgetting_it_is_simclr_with_memory_as_negatives():
    options = {"mu": 2.0, "lam": 0.0, "memory_anchors": False, "tau": 0.2}
    learner = fit(make("scale", **PLAIN, **options), last=3)
    z, n, m = projections(learner, images(seed=7), train=True)
    assert (n, m) == (12, 36)
    learner.partial_fit(images(seed=7))
    expected = slow.contrastive(z, [{slow.twin(i, n)} for i in range(2 * n)], 0.2)
    assert learner.diagnostics_["loss"] == pytest.approx(expected, rel=1e-4)
    assert learner.diagnostics_["pseudo_positives"] == 1


@pytest.mark.parametrize("memory_anchors", [False, True])
@pytest.mark.parametrize("kappa_past", [None, 0.05])
@pytest.mark.parametrize("direction", ["past-to-current", "current-to-past"])
@pytest.mark.parametrize("views", ["once", "anew"])
def test_the_loss_is_the_formula_of_the_paper(memory_anchors, kappa_past, direction, views):
    options = {"tau": 0.2, "kappa": 0.1, "mu": 0.4, "lam": 0.7, "views": views}
    options |= {"memory_anchors": memory_anchors, "kappa_past": kappa_past}
    learner = fit(make("scale", **PLAIN, **options, forgetting_direction=direction), last=3)
    z, n, m = projections(learner, images(seed=7), train=True)
    z_past, _, _ = projections(learner, images(seed=7), train=False)
    learner.partial_fit(images(seed=7))

    p = slow.similarity(z, 0.1)
    p_past = slow.similarity(z_past, kappa_past or 0.1)
    positives = slow.pseudo_positives(p, n, 0.4)
    count = sum(map(len, positives)) / (2 * n)
    if memory_anchors:
        positives += [{2 * n + slow.twin(i, m)} for i in range(2 * m)]
    contrastive = slow.contrastive(z, positives, 0.2)
    pair = (p, p_past) if direction == "past-to-current" else (p_past, p)
    forgetting = slow.forgetting(*pair)
    got = learner.diagnostics_
    assert got["pseudo_positives"] == pytest.approx(count)
    assert got["contrastive"] == pytest.approx(contrastive, rel=1e-4)
    assert got["forgetting"] == pytest.approx(forgetting, rel=1e-3)
    assert got["loss"] == pytest.approx(contrastive + 0.7 * forgetting, rel=1e-4)


def test_past_features_can_pass_the_projector_of_today():
    learner = fit(make("scale", **PLAIN, lam=0.7), last=3)
    other = fit(make("scale", **PLAIN, lam=0.7, past_projector="current"), last=3)
    views = torch.rand(6, *learner.view_shape_)
    for each, projector in ((learner, learner.past_.projector), (other, other.projector_)):
        with torch.no_grad():
            expected = symmetric_sne(dot_products(projector(each.past_.encoder(views))), each.kappa)
        assert torch.equal(each._past_similarity(views, views[:0]), expected)


@pytest.mark.parametrize("option", ["similarity", "past_projector"])
def test_an_unknown_feature_or_projector_is_refused(option):
    with pytest.raises(InputError, match=f"{option} must be"):
        make("scale", **{option: "y"}).partial_fit(images(seed=0))


def test_a_relative_weight_is_set_by_the_first_losses_and_then_kept():
    learner = make("scale", lam=0.5, lam_relative=True, steps_per_batch=1)
    first = learner.partial_fit(images(seed=0)).diagnostics_
    assert first["loss"] == pytest.approx(1.5 * first["contrastive"], rel=1e-5)
    ratio = first["contrastive"] / first["forgetting"]
    later = fit(learner, 1, 4).diagnostics_
    expected = later["contrastive"] + 0.5 * ratio * later["forgetting"]
    assert later["loss"] == pytest.approx(expected, rel=1e-5)


class Watched(torch.nn.Sequential):
    """A small encoder that tells of every forward pass: whether it trains, and its input."""

    def __init__(self) -> None:
        super().__init__(
            torch.nn.AdaptiveAvgPool2d(4),
            torch.nn.Flatten(),
            torch.nn.Linear(16, 8),
            torch.nn.BatchNorm1d(8),
        )
        self.calls: list[tuple[bool, torch.Tensor]] = []
        self.register_forward_hook(
            lambda module, inputs, out: self.calls.append((module.training, inputs[0].clone()))
        )


def watch(views: str) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Inputs of current and past model in the second batch: n = m = 12, three updates."""
    encoder = Watched()
    options = {"memory_policy": "fifo", "memory_batch": 12, "steps_per_batch": 3}
    learner = fit(make("scale", encoder=encoder, views=views, **options), last=1)
    encoder.calls.clear()
    fit(learner, 1, 2)
    current = [views for training, views in encoder.calls if training]
    past = [views for training, views in encoder.calls if not training]
    return current, past


def test_views_drawn_once_are_the_same_in_every_update_and_pass_the_past_model_once():
    current, past = watch("once")
    assert [len(views) for views in current] == [48, 48, 48]
    assert [len(views) for views in past] == [24, 24, 24, 24]  # the stream's, then memory's thrice
    stream, *memory = past
    for views, of_memory in zip(current, memory, strict=True):
        assert torch.equal(views[:24], stream)
        assert torch.equal(views[24:], of_memory)
    assert not torch.equal(memory[0], memory[1])


def test_views_drawn_anew_differ_in_every_update_and_pass_the_past_model_each_time():
    current, past = watch("anew")
    assert [len(views) for views in past] == [48, 48, 48]
    for views, of_past in zip(current, past, strict=True):
        assert torch.equal(views, of_past)
    assert not torch.equal(current[0][:24], current[1][:24])


def test_the_two_views_of_an_image_differ():
    (views, *_), _ = watch("once")
    assert not torch.equal(views[:12], views[12:24])


def test_the_past_model_is_that_of_before_the_batch():
    """In the first update of a batch nothing has changed yet, so nothing is forgotten."""
    encoder = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 8))
    learner = make("scale", encoder=encoder, steps_per_batch=1)
    for batch in range(4):
        learner.partial_fit(images(seed=batch))
        assert learner.diagnostics_["forgetting"] == pytest.approx(0, abs=1e-4)
    learner.steps_per_batch = 5
    assert fit(learner, 4, 5).diagnostics_["forgetting"] > 1e-3


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("steps_per_batch", 0),
        ("memory_batch", -1),
        ("memory_size", -1),
        ("memory_policy", "psaa"),
        ("augmentation", "mnits"),
        ("encoder", "cnnn"),
        ("views", "twice"),
        ("forgetting_direction", "sideways"),
        ("tau", 0.0),
        ("kappa", -1.0),
        ("lr", -1.0),
        ("seed", -1),
    ],
)
def test_a_parameter_that_makes_no_sense_is_named(parameter, value):
    words = {"memory_policy": "memory policy", "forgetting_direction": "direction"}
    with pytest.raises(Exception, match=words.get(parameter, parameter)) as caught:
        make("scale", **{parameter: value}).partial_fit(images())
    assert type(caught.value).__module__ == "scale._errors"
    assert "became" not in str(caught.value)  # not found out by a loss that is not finite
