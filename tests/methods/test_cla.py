"""CLA: the alignment, the slow teacher of form E, the stored projections of form R."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from scale._errors import InputError
from scale.losses import alignment_loss

from .learners import differences, fit, images, learn, make, state

FORMS = ["cla", "cla-r"]


def views(n: int, seed: int) -> torch.Tensor:
    return torch.randn(2 * n, 1, 28, 28, generator=torch.Generator().manual_seed(seed))


def model(learner) -> list[nn.Parameter]:
    """The parameters of encoder and projector."""
    return [*learner.encoder_.parameters(), *learner.projector_.parameters()]


def shared(learner):
    """The state of what every replaying method has."""
    names = ("encoder.", "projector.", "view_rng.", "memory_rng.", "memory.images", "memory.arr")
    return {name: tensor for name, tensor in state(learner).items() if name.startswith(names)}


def test_the_alignment_is_minus_the_mean_cosine():
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(2, 7, 5, generator=generator, dtype=torch.float64)
    slow = 0.0
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        dot = sum(p * q for p, q in zip(x, y, strict=True))
        slow -= dot / math.sqrt(sum(p * p for p in x)) / math.sqrt(sum(q * q for q in y)) / len(a)
    assert float(alignment_loss(a, b)) == pytest.approx(slow, rel=1e-12)
    assert float(alignment_loss(a, 3 * a)) == pytest.approx(-1)


@pytest.mark.parametrize("name", ["cla", "cla-r"])
def test_without_alignment_it_equals_er_bit_for_bit(name):
    er, ours = fit(make("er"), last=4), fit(make(name, omega=0.0), last=4)
    assert differences(shared(er), shared(ours)) == []


@pytest.mark.parametrize("name", ["cla", "cla-r", "climb", "osiris-r"])
def test_encoder_and_projector_start_like_those_of_er(name):
    er, ours = make("er", seed=3), make(name, seed=3)
    er.start((1, 28, 28))
    ours.start((1, 28, 28))
    assert differences(shared(er), shared(ours)) == []


@pytest.mark.parametrize("name", FORMS)
def test_the_loss_is_that_of_er_plus_the_weighted_alignment_of_replayed_views(name):
    learner, er = fit(make(name, omega=0.0), last=2), fit(make("er"), last=2)
    learner.omega = 0.7
    stream = views(5, 0)
    learner.replayed_ = torch.tensor([4, 0, 11])
    memory = views(3, 1)
    found = learner.losses(stream, memory)
    contrastive = er.losses(stream, memory)["loss"]
    with torch.no_grad():
        z = er.projector_(er.encoder_(torch.cat([stream, memory])))[10:]
        if name == "cla":
            targets = learner.teacher_(memory)
        else:
            targets = learner.memory_.columns["projections"][[4, 0, 11, 4, 0, 11]]
        expected = alignment_loss(learner.heads_["aligner"](z), targets)
    torch.testing.assert_close(found["contrastive"], contrastive)
    torch.testing.assert_close(found["alignment"], expected)
    torch.testing.assert_close(found["loss"], contrastive + 0.7 * expected)


@pytest.mark.parametrize("name", FORMS)
def test_no_gradient_reaches_the_targets_and_the_aligner_learns(name):
    learner = fit(make(name), last=1)
    before = [p.clone() for p in learner.heads_["aligner"].parameters()]
    fit(learner, 1, 2)
    assert all(
        not torch.equal(a, b)
        for a, b in zip(before, learner.heads_["aligner"].parameters(), strict=True)
    )
    if name == "cla":
        assert all(not p.requires_grad and p.grad is None for p in learner.teacher_.parameters())


def test_before_memory_holds_anything_there_is_no_alignment():
    learner = learn(make("cla"), images())
    assert "alignment" not in learner.diagnostics_
    assert "alignment" in fit(learner, 1, 2).diagnostics_


@pytest.mark.parametrize("ema", [0.9, 0.999])
def test_the_teacher_is_the_moving_average_of_the_weights_after_each_update(ema):
    learner = make("cla", ema=ema, steps_per_batch=1)
    learner.start((1, 28, 28))
    expected = [p.detach().double() for p in model(learner)]
    for seed in range(4):
        learn(learner, images(seed=seed))
        now = [p.detach().double() for p in model(learner)]
        expected = [ema * slow + (1 - ema) * p for slow, p in zip(expected, now, strict=True)]
    for found, slow in zip(learner.teacher_.parameters(), expected, strict=True):
        torch.testing.assert_close(found.double(), slow, rtol=1e-5, atol=1e-7)


def test_the_teacher_follows_every_update_of_a_batch():
    follows, copies = (fit(make("cla", ema=ema, steps_per_batch=3), last=2) for ema in (1.0, 0.0))
    first = make("cla")
    first.start((1, 28, 28))
    for a, b in zip(follows.teacher_.parameters(), model(first), strict=True):
        assert torch.equal(a, b)
    for a, b in zip(copies.teacher_.parameters(), model(copies), strict=True):
        torch.testing.assert_close(a, b)


def test_running_statistics_of_the_teacher_do_not_change_its_projections():
    learner = fit(make("cla"), last=2)
    memory = views(3, 1)
    before = learner.targets(memory)
    for module in learner.teacher_.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.fill_(9.0)
            module.running_var.fill_(9.0)
    assert torch.equal(learner.targets(memory), before)


def test_stored_projections_are_refreshed_for_replayed_images_and_no_others():
    learner = fit(make("cla-r", lr=0.0, steps_per_batch=1, memory_size=60), last=2)
    before = learner.memory_.columns["projections"].clone()
    fit(learner, 2, 3)  # 36 images fit in: none leaves its place
    after, replayed = learner.memory_.columns["projections"][:24], learner.replayed_
    assert len(replayed) == 8
    torch.testing.assert_close(after[replayed], learner._z[12:])
    others = torch.ones(24, dtype=torch.bool)
    others[replayed] = False
    assert torch.equal(after[others], before[others])


def test_stored_projections_follow_their_images():
    learner = make("cla-r", steps_per_batch=1, memory_batch=0)
    entered: dict[int, torch.Tensor] = {}
    for seed in range(4):
        learn(learner, images(seed=seed))
        for i, z in enumerate(learner._z[:12]):
            entered[12 * seed + i] = z
        kept = learner.memory_.arrivals.tolist()
        expected = torch.stack([entered[arrival] for arrival in kept])
        assert torch.equal(learner.memory_.columns["projections"], expected)
    assert min(kept) < 36  # some came with earlier batches


def test_forms_keep_what_they_need_and_say_so():
    slow, stored = fit(make("cla"), last=1), fit(make("cla-r"), last=1)
    assert slow.memory_.columns == {}
    assert set(stored.memory_.columns) == {"projections"}
    assert not any(name.startswith("teacher") for name in stored.state_dict())
    assert slow.costs().memory == "20 images, a teacher"
    assert stored.costs().memory == "20 images with their projections"


@pytest.mark.parametrize("name", ["cla", "cla-r", "climb", "osiris-r"])
def test_dropout_in_a_users_module_draws_from_the_learners_generators(name):
    module = nn.Sequential(nn.AvgPool2d(4), nn.Flatten(), nn.Linear(49, 20), nn.Dropout(0.5))
    before = torch.get_rng_state()
    first = fit(make(name, encoder=module), last=2)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(5)
    assert differences(state(first), state(fit(make(name, encoder=module), last=2))) == []


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"omega": -1.0}, "omega must be 0 or more"),
        ({"ema": 1.1}, "ema must be from 0 to 1"),
        ({"tau": 0.0}, "tau must be above 0"),
    ],
)
def test_impossible_parameters_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        learn(make("cla", **given), images())
