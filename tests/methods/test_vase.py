"""VASE: the mask, the capacity, the environments, the dreams."""

from __future__ import annotations

import copy
import math

import pytest
import torch

from scale.losses.gaussian import standard_kl
from scale.methods import METHODS

from .learners import differences, fit, images, make, state
from .toys import left_or_right

ALWAYS = 1e30


def started(**params):
    learner = make("vase", **params)
    learner.start((1, 28, 28))
    return learner


def pixels(n: int = 40, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(images(n, seed)).float() / 255


def gradients(learner, loss, name):
    return torch.autograd.grad(loss, learner.model_[name].parameters(), allow_unused=True)


def test_without_masks_and_capacity_the_absolute_form_is_a_beta_vae():
    learner = started(mask_limit=ALWAYS, distance="absolute", capacity=0.0, gamma=3.0)
    twin = copy.deepcopy(learner)
    x = pixels()
    losses = learner.objective(x)
    mean, log_var = twin.posterior(x)
    z = twin.sample(mean, log_var)
    hot = torch.tensor([1.0, 0.0, 0.0]).expand(len(x), 3)
    p = torch.sigmoid(twin.model_["decoder"](torch.cat([z, hot], 1))).double()
    nll = -(x * p.log() + (1 - x) * (1 - p).log()).sum(dim=(1, 2, 3)).mean()
    beta = 3.0 * 28 * 28 / 4096
    expected = nll + beta * standard_kl(mean, log_var).mean()
    found = losses["reconstruction"] + losses["capacity"]
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=0)


def test_without_a_mask_limit_nothing_is_masked():
    learner = started(mask_limit=ALWAYS)
    learner.environments_.mask[2] = False
    learner.before_batch(pixels())
    assert learner.environments_.mask.all()


def test_capacity_grows_linearly_up_to_its_maximum():
    learner = started(capacity=10.0, capacity_updates=4)
    found = []
    for updates in (0, 2, 4, 9):
        learner.environments_.updates.fill_(updates)
        found.append(learner.wanted_capacity())
    assert found == [0, 5, 10, 10]


def test_a_limit_of_zero_masks_all_and_the_encoder_gets_no_gradient():
    learner = started(mask_limit=0.0)
    learner.before_batch(pixels())
    assert not learner.environments_.mask.any()
    loss = learner.objective(pixels())["reconstruction"]
    assert not any(g.any() for g in gradients(learner, loss, "trunk") if g is not None)


def test_masked_latents_get_no_gradient_and_others_do():
    learner = started(mask_limit=ALWAYS)
    learner.environments_.mask[2] = False
    losses = learner.objective(pixels())
    weight, _ = gradients(learner, losses["reconstruction"] + losses["capacity"], "head")
    rows = weight.view(2, learner.latents, -1).abs().sum(dim=(0, 2))
    assert rows[2] == 0
    assert (rows[[0, 1, 3, 4, 5]] > 0).all()


def test_the_divergence_from_the_prior_decides_with_hysteresis():
    learner = started(mask_limit=1.0, hysteresis=0.2, latents=4)
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(20000, 4, generator=generator)
    shifts = torch.tensor([0.0, 3.0, math.sqrt(2), math.sqrt(2)])  # KL 0, 4.5, 1, 1
    learner.environments_.mask.copy_(torch.tensor([False, True, True, False]))
    assert learner.new_mask(z + shifts).tolist() == [True, False, True, False]


def test_small_batches_keep_the_last_mask():
    learner = started(mask_limit=0.0, kappa=ALWAYS)
    learner.before_batch(pixels(31))
    assert learner.environments_.mask.all()
    learner.before_batch(pixels(32))
    assert not learner.environments_.mask.any()


def test_without_a_limit_there_is_one_environment_for_ever():
    learner = fit(make("vase", kappa=ALWAYS, compare_masks=False), last=5)
    assert learner.diagnostics_["environments"] == 1


def test_a_limit_of_zero_opens_one_in_each_batch_up_to_the_maximum():
    learner = make("vase", kappa=0.0)
    grown = [fit(learner, i, i + 1).diagnostics_["environments"] for i in range(5)]
    assert grown == [1, 2, 3, 3, 3]  # the first batch has nothing to compare with
    assert int(learner.environments_.present) == 2


def test_burn_in_opens_none():
    learner = make("vase", kappa=0.0, burn_in=4)  # 2 updates a batch
    grown = [fit(learner, i, i + 1).diagnostics_["environments"] for i in range(4)]
    assert grown == [1, 1, 2, 3]


def test_another_mask_of_used_latents_opens_an_environment():
    learner = started(kappa=ALWAYS)
    used = torch.tensor([True, False, True, False, False, False])
    learner.environments_.enter(0, 1.0)
    learner.environments_.mask[1] = False
    assert not learner._is_new(0, 1.0, used)
    learner.environments_.mask[2] = False
    assert learner._is_new(0, 1.0, used)
    learner.compare_masks = False
    assert not learner._is_new(0, 1.0, used)


def test_right_after_a_copy_the_past_costs_nothing():
    learner = fit(make("vase"), last=3)
    learner.snapshot_.take()
    losses = learner.past(pixels())
    assert losses["past_encoder"].item() == 0
    for gradient in gradients(learner, losses["past_decoder"], "decoder"):
        assert gradient.abs().max() < 1e-4


def test_the_past_is_transport_of_codes_and_divergence_of_pixels():
    learner = fit(make("vase", snapshot_updates=100), last=4)  # copies when environments open
    twin = copy.deepcopy(learner)
    found = learner.past(pixels())
    x, z, s, old_logits = twin.dream(40)
    hot = torch.eye(3)[s]
    with torch.no_grad():
        new = twin.model_["head"](twin.model_["trunk"](x)).double()
        old = twin.snapshot_.head(twin.snapshot_.trunk(x)).double()
        logits = twin.model_["decoder"](torch.cat([z, hot], 1)).double()
    p, q = torch.sigmoid(old_logits.double()), torch.sigmoid(logits)
    transport = divergence = 0.0
    for i in range(40):
        (mu, lv), (nu, lw) = new[i].chunk(2), old[i].chunk(2)
        transport += float((mu - nu).square().sum())
        transport += float(((lv / 2).exp() - (lw / 2).exp()).square().sum())
        ones = (p[i] * (p[i] / q[i]).log()).sum()
        zeros = ((1 - p[i]) * ((1 - p[i]) / (1 - q[i])).log()).sum()
        divergence += float(ones + zeros)
    assert transport > 0
    assert found["past_encoder"].item() == pytest.approx(transport / 40, rel=1e-4)
    assert found["past_decoder"].item() == pytest.approx(divergence / 40, rel=1e-3)


def test_old_networks_move_only_at_copies():
    learner = make("vase", kappa=ALWAYS, compare_masks=False, snapshot_updates=4)
    fit(learner, 0, 2)  # 4 updates
    before = copy.deepcopy(learner.snapshot_.state_dict())
    assert int(learner.snapshot_.taken) == 1
    fit(learner, 2, 3)
    assert differences(before, learner.snapshot_.state_dict()) == []
    fit(learner, 3, 4)
    assert int(learner.snapshot_.taken) == 2


def test_old_networks_stay_when_the_maximum_of_environments_is_open():
    learner = fit(make("vase", kappa=0.0, snapshot_updates=100), last=3)  # three are open
    assert int(learner.snapshot_.taken) == 2
    fit(learner, 3, 6)  # every batch would open another
    assert int(learner.snapshot_.taken) == 2


def test_dreams_are_of_other_environments_only():
    learner = fit(make("vase"), last=3)  # three open, the last is present
    learner.snapshot_.take()
    _, _, s, _ = learner.dream(200)
    assert set(s.tolist()) == {0, 1}
    assert started().dream(5) is None


def test_the_classifier_does_not_change_the_encoder():
    learner = started()
    learner.environments_.known.fill_(2)
    loss = learner.objective(pixels())["environment"]
    assert all(g is None for g in gradients(learner, loss, "trunk"))
    assert all(g is not None for g in gradients(learner, loss, "classifier"))


def test_without_the_past_the_time_of_copies_changes_nothing():
    def after(**params):
        return state(fit(make("vase", past_weight=0.0, **params), last=3))

    assert differences(after(snapshot_updates=1), after(snapshot_updates=5)) == []


@pytest.mark.parametrize("past_weight", [0.0, 1.0])
def test_two_kinds_in_sequence_open_a_second_environment_and_one_kind_does_not(past_weight):
    learner = METHODS["vase"](
        latents=4,
        encoder_units=[32],
        decoder_units=[32],
        steps_per_batch=10,
        lr=3e-3,
        burn_in=60,
        capacity_updates=100,
        past_weight=past_weight,
    )
    for seed in range(9):
        learner.partial_fit(left_or_right(32, False, seed))
    assert learner.diagnostics_["environments"] == 1
    learner.partial_fit(left_or_right(32, True))
    assert learner.diagnostics_["environments"] == 2
    assert int(learner.environments_.present) == 1
