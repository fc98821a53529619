"""CURL and the plain VAE: the loss, the expansion, the snapshot, the dreams."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch

from scale.losses.gaussian import gaussian_kl
from scale.losses.likelihood import pixel_entropy
from scale.methods import METHODS

from .learners import differences, fit, images, make, state
from .toys import left_or_right

NEVER = 1e30  # nats: no image is that poor
SMALL = {
    "steps_per_batch": 10,
    "lr": 3e-3,
    "latents": 4,
    "encoder_units": [32],
    "decoder_units": [32],
}


def started(**params):
    learner = make("curl", **params)
    learner.start((1, 28, 28))
    return learner


def pixels(n: int = 12, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(images(n, seed)).float() / 255


def test_a_vae_lowers_its_loss_and_its_codes_separate_two_kinds_of_images():
    vae = METHODS["vae"](**SMALL)
    losses = []
    for seed in range(6):
        batch = np.concatenate([left_or_right(8, False, seed), left_or_right(8, True, seed)])
        losses.append(vae.partial_fit(batch).diagnostics_["loss"])
    assert losses[-1] < losses[0] / 2
    left, right = (vae.transform(left_or_right(8, side, 99)) for side in (False, True))
    within = np.linalg.norm(left - left.mean(0), axis=1).mean()
    assert np.linalg.norm(left.mean(0) - right.mean(0)) > 3 * within


def test_one_component_is_a_vae_with_a_learned_prior():
    learner = started(max_components=1)
    x = pixels()
    with torch.no_grad():
        learner.components.prior_mean += 0.3
    twin = copy.deepcopy(learner)
    loss = learner.objective(x)["loss"]
    h = twin.model_["trunk"](x)
    mean, raw = twin.components.codes(h).chunk(2, dim=1)
    var = torch.nn.functional.softplus(raw)
    z = mean + var.sqrt() * twin.noise(*mean.shape)
    p = torch.sigmoid(twin.model_["decoder"](z)).double()
    nll = -(x * p.log() + (1 - x) * (1 - p).log()).sum(dim=(1, 2, 3))
    kl = gaussian_kl(mean, var, twin.components.prior_mean, torch.ones_like(var))
    torch.testing.assert_close(loss.double(), (nll + kl).mean(), rtol=1e-5, atol=0)


@pytest.mark.parametrize("active", [2, 3])
def test_the_elbo_is_the_slow_formula_over_all_components(active):
    learner, x = started(max_components=3), pixels(4)
    for _ in range(active - 1):
        learner.components.copy(0)
    with torch.no_grad():  # components that differ
        for tensor in learner.components.parameters():
            tensor += 0.3 * torch.randn(tensor.shape, generator=torch.Generator().manual_seed(1))
    twin = copy.deepcopy(learner)
    found, log_q = (value.detach().numpy() for value in learner.elbo(x))
    h = twin.model_["trunk"](x).detach()
    known = learner.known_elbo(h, x, 1).detach().numpy()
    mean, var = (value.detach() for value in twin.components.q_z(h))
    decoded = _decoded(twin, mean, var)  # (4, K, pixels)
    alone = _decoded(twin, mean[:, 1:2], var[:, 1:2])
    prior_mean, prior_var = (v.detach().double().numpy() for v in twin.components.prior())
    mean, var, targets = (v.double().numpy() for v in (mean, var, x.flatten(1)))
    for i in range(4):
        q = np.exp(log_q[i].astype(np.float64))
        kl_y = sum(q[y] * math.log(q[y] * active) for y in range(active))
        terms = []
        for y in range(active):
            log_p = _log_likelihood(decoded[i, y], targets[i])
            terms.append(log_p - _slow_kl(mean[i, y], var[i, y], prior_mean[y], prior_var[y]))
        slow = sum(q[y] * terms[y] for y in range(active)) - kl_y
        assert found[i] == pytest.approx(slow, rel=1e-5)
        log_p = _log_likelihood(alone[i, 0], targets[i])
        kl = _slow_kl(mean[i, 1], var[i, 1], prior_mean[1], prior_var[1])
        assert known[i] == pytest.approx(log_p - kl + log_q[i, 1], rel=1e-5)


def _decoded(learner, mean, var):
    z = mean + var.sqrt() * learner.noise(*mean.shape)
    with torch.no_grad():
        logits = learner.model_["decoder"](z.flatten(0, 1)).double()
    return torch.sigmoid(logits).view(*mean.shape[:2], -1).numpy()


def _log_likelihood(p, x):
    return sum(b * math.log(a) + (1 - b) * math.log(1 - a) for a, b in zip(p, x, strict=True))


def _slow_kl(mean, var, prior_mean, prior_var):
    return sum(
        (v / w + (m - n) ** 2 / w - 1 - math.log(v / w)) / 2
        for m, v, n, w in zip(mean, var, prior_mean, prior_var, strict=True)
    )


def test_inactive_slots_get_no_mass_and_no_gradient():
    learner = started(max_components=3)
    learner.components.copy(0)
    learner.objective(pixels())["loss"].backward()
    assert learner.components.log_q_y(torch.zeros(2, 16)).shape == (2, 2)
    rows = 2 * learner.latents
    assert not learner.components.codes.weight.grad[2 * rows :].any()
    assert not learner.components.logits.weight.grad[2:].any()
    assert not learner.components.prior_mean.grad[2:].any()
    assert learner.components.codes.weight.grad[rows : 2 * rows].any()


def test_without_poor_images_there_is_one_component_for_ever():
    learner = fit(make("curl", poor_nats=NEVER), last=6)
    assert learner.diagnostics_["components"] == 1
    assert not learner.snapshot_


@pytest.mark.parametrize("wait", [0, 4])
def test_if_all_images_are_poor_components_grow_after_each_wait_up_to_the_maximum(wait):
    learner = make("curl", wait=wait, replay=False)  # 2 updates a batch, 12 images, 10 are enough
    grown = [fit(learner, i, i + 1).diagnostics_["components"] for i in range(8)]
    every = max(1, wait // 2)
    first = 0 if wait == 0 else every
    expected = [1 + (i >= first) + (i >= first + every) for i in range(8)]
    assert grown == expected


def test_a_new_component_starts_as_a_copy_of_the_one_that_explains_the_images():
    learner = fit(make("curl", poor_nats=NEVER), last=2)
    new = learner.components.copy(0)
    h = learner.model_["trunk"](pixels())
    mean, var = learner.components.q_z(h)
    assert torch.equal(mean[:, 0], mean[:, new])
    assert torch.equal(var[:, 0], var[:, new])
    log_q = learner.components.log_q_y(h)
    torch.testing.assert_close(log_q[:, 0], log_q[:, new])


def test_expansion_changes_neither_trunk_nor_decoder():
    learner = fit(make("curl", poor_nats=NEVER), last=2)
    learner.poor_.push(pixels(10))
    before = state(learner)
    learner.expand()
    changed = differences(before, state(learner))
    assert any(name.startswith("model.components") for name in changed)
    assert not any(name.startswith(("model.trunk", "model.decoder")) for name in changed)
    assert len(learner.poor_) == 0


def test_the_snapshot_moves_only_at_an_expansion():
    learner = fit(make("curl"), last=3)  # two expansions fill all slots
    assert int(learner.snapshot_.taken) == 2
    before = copy.deepcopy(learner.snapshot_.state_dict())
    fit(learner, 3, 5)
    assert differences(before, learner.snapshot_.state_dict()) == []


def test_without_replay_and_expansion_the_snapshot_options_change_nothing():
    def weights(**params):
        learner = fit(make("curl", replay=False, poor_nats=NEVER, **params), last=3)
        return {k: v for k, v in state(learner).items() if not k.startswith("snapshot")}

    assert differences(weights(), weights(snapshot="every", snapshot_every=1)) == []


def test_a_batch_is_judged_once_however_many_updates_it_gets():
    learner = fit(make("curl", poor_nats=NEVER, steps_per_batch=5), last=2)
    assert int(learner.novelty_.pushed) == 24
    assert float(learner.components.counts.sum()) == pytest.approx(24, rel=1e-5)


def test_with_a_snapshot_an_update_on_dreams_follows_each_on_the_stream():
    learner = fit(make("curl", poor_nats=NEVER), last=1)
    assert [set(made) for made in learner.update(pixels())] == [{"loss"}]
    learner.snapshot_.take()
    waited = int(learner.novelty_.waited)
    assert [set(made) for made in learner.update(pixels())] == [{"loss"}, {"dreamed"}]
    assert int(learner.novelty_.waited) == waited + 2


def test_the_score_is_the_elbo_on_binary_images_and_the_excess_on_grey_ones():
    for x in (pixels().round(), pixels()):
        learner = started(max_components=1)
        twin = copy.deepcopy(learner)
        learner.judge(x)
        elbo = twin.elbo(x)[0].detach()
        torch.testing.assert_close(learner.novelty_.latest(), -(elbo + pixel_entropy(x)))
    assert not pixel_entropy(pixels().round()).any()


def test_dreams_come_from_components_as_often_as_the_stream_did():
    learner = started(max_components=3)
    learner.components.copy(0)
    with torch.no_grad():
        learner.components.prior_mean[1] += 50
        learner.components.counts[:2] = torch.tensor([300.0, 100.0])
    learner.snapshot_.take()
    prior = learner.snapshot_.components.prior_mean
    decoded = []
    learner.snapshot_.decoder.register_forward_hook(lambda _, z, out: decoded.append(z[0]))
    learner.dream(2000)
    share = float((decoded[0].mean(1) > 25).float().mean())
    assert prior[1].mean() == 50
    assert share == pytest.approx(0.25, abs=0.04)


def toy_learner(**params):
    small = {
        "novelty": 4.0,
        "window": 64,
        "wait": 30,
        "expansion_images": 16,
        "max_components": 4,
        **SMALL,
    }
    return METHODS["curl"](**{**small, **params})


def test_two_kinds_in_sequence_open_a_second_component_that_separates_them():
    learner = toy_learner()
    for right in (False, True):
        for seed in range(8):
            learner.partial_fit(left_or_right(16, right, seed))
    assert learner.diagnostics_["components"] >= 2

    def components(right):
        x = torch.from_numpy(left_or_right(32, right, 99)).float() / 255
        return set(learner.components.log_q_y(learner.model_["trunk"](x)).argmax(1).tolist())

    assert not components(False) & components(True)


def test_one_kind_alone_keeps_one_component():
    learner = toy_learner()
    for seed in range(12):
        learner.partial_fit(left_or_right(16, False, seed))
    assert learner.diagnostics_["components"] == 1


def test_the_preset_is_the_published_network():
    params = METHODS["curl"].presets["mnist"]
    learner = METHODS["curl"](**params)
    learner.start((1, 28, 28))
    assert [m.out_features for m in learner.model_["trunk"] if hasattr(m, "out_features")] == [
        1200,
        600,
        300,
        150,
    ]
