"""L-VAEGAN: the penalty, domains, the past generator, and who changes what."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from scale.losses.gaussian import gaussian_kl, standard_kl
from scale.losses.penalty import gradient_penalty
from scale.methods import METHODS

from .learners import differences, fit, images, make, state
from .toys import left_or_right

OFF = 10**6  # critic_every: no update of the GAN


def started(**params):
    learner = make("lvaegan", **params)
    learner.start((1, 28, 28))
    return learner


def pixels(n: int = 12, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(images(n, seed)).float() / 255


def of(learner, *names):
    prefixes = tuple(f"model.{name}." for name in names)
    return {k: v for k, v in state(learner).items() if k.startswith(prefixes)}


def test_the_penalty_of_a_critic_with_unit_gradient_is_zero():
    critic = nn.Sequential(nn.Flatten(), nn.Linear(16, 1))
    with torch.no_grad():
        critic[1].weight.copy_(torch.full((1, 16), 0.25))  # of length 1
    real, fake = torch.rand(2, 5, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    mix = torch.linspace(0, 1, 5)
    assert gradient_penalty(critic, real, fake, mix).item() == pytest.approx(0, abs=1e-12)
    with torch.no_grad():
        critic[1].weight.mul_(3)
    assert gradient_penalty(critic, real, fake, mix).item() == pytest.approx(4)


def test_the_penalty_of_a_sample_does_not_depend_on_the_others():
    critic = nn.Sequential(nn.Flatten(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 1))
    real, fake = torch.rand(2, 6, 1, 4, 4, generator=torch.Generator().manual_seed(0))
    mix = torch.linspace(0, 1, 6)
    alone = [
        gradient_penalty(critic, real[i : i + 1], fake[i : i + 1], mix[i : i + 1]) for i in range(6)
    ]
    torch.testing.assert_close(gradient_penalty(critic, real, fake, mix), torch.stack(alone).mean())


def test_the_prior_of_a_domain_is_its_index_in_every_coordinate():
    mean, std = torch.full((1, 4), 2.0), torch.ones(1, 4)
    assert float(gaussian_kl(mean, std.square(), torch.full((1, 4), 2.0), std)) == 0
    learner = started()
    learner.domains_.known.fill_(3)
    with torch.no_grad():  # the classifier is sure of domain 2; the posterior is its prior
        learner.model_["domain"][1].weight.zero_()
        learner.model_["domain"][1].bias.copy_(torch.tensor([-50.0, -50.0, 50.0]))
        learner.model_["head"].weight.zero_()
        learner.model_["head"].bias[:6] = 2.0
        learner.model_["head"].bias[6:] = 0.541325  # softplus: 1
    assert float(learner.objective(pixels())["kl"]) == pytest.approx(0, abs=1e-5)


def test_the_likeliest_domain_is_the_prior_even_if_the_decoder_sees_another():
    learner = started()
    learner.domains_.known.fill_(2)
    with torch.no_grad():  # almost undecided: draws differ, the likeliest does not
        learner.model_["domain"][1].weight.zero_()
        learner.model_["domain"][1].bias.copy_(torch.tensor([0.0, 0.1, 0.0]))
    drawn = learner.draw_domain(learner.domain_logits(pixels(50)))
    assert set(drawn.argmax(1).tolist()) == {0, 1}
    mean, std = learner.gaussian(pixels())
    expected = gaussian_kl(mean, std.square(), torch.ones_like(mean), torch.ones_like(std)).mean()
    torch.testing.assert_close(learner.objective(pixels())["kl"], expected)


def test_one_domain_has_the_ordinary_prior():
    learner = fit(make("lvaegan", domains="one"), last=2)
    mean, std = learner.gaussian(pixels())
    expected = standard_kl(mean, 2 * std.log()).mean()
    torch.testing.assert_close(learner.objective(pixels())["kl"], expected)
    assert learner.diagnostics_["domains"] == 1


def test_the_updates_of_vae_and_gan_do_not_touch_each_other():
    learner = started(critic_every=OFF)
    before = of(learner, "generator", "critic")
    learner.update(pixels())
    assert differences(before, of(learner, "generator", "critic")) == []
    before = of(learner, "trunk", "head", "decoder", "domain")
    learner.update_gan(pixels(), torch.eye(3)[[0] * 12])
    assert differences(before, of(learner, "trunk", "head", "decoder", "domain")) == []
    assert differences(of(started(), "generator"), of(learner, "generator"))


def test_without_dreams_the_gan_changes_no_feature():
    with_gan, without = (
        fit(make("lvaegan", replay=False, critic_every=every), last=3) for every in (1, OFF)
    )
    vae = ("trunk", "head", "decoder", "domain")
    assert differences(of(with_gan, *vae), of(without, *vae)) == []


def test_the_past_generator_moves_only_at_copies_and_dreams_only_after_one():
    learner = fit(make("lvaegan", snapshot_every=2), last=1)
    assert not learner.snapshot_
    fit(learner, 1, 2)
    before = copy.deepcopy(learner.snapshot_.state_dict())
    assert learner.snapshot_
    fit(learner, 2, 3)
    assert differences(before, learner.snapshot_.state_dict()) == []
    fit(learner, 3, 4)
    assert differences(before, learner.snapshot_.state_dict())


def test_without_replay_the_past_generator_has_no_effect():
    def model(every):
        learner = fit(make("lvaegan", replay=False, snapshot_every=every), last=3)
        return {k: v for k, v in state(learner).items() if not k.startswith("snapshot")}

    assert differences(model(1), model(9)) == []


def test_dreams_are_of_domains_before_the_copy():
    learner = started()
    learner.domains_.known.fill_(2)
    learner.snapshot_.take()
    learner.domains_.known.fill_(3)
    dreams, domains = learner.dream(100)
    assert set(domains.tolist()) == {0, 1}
    assert dreams.shape == (100, 1, 28, 28)
    assert 0 <= dreams.min() <= dreams.max() <= 1


def test_two_kinds_in_sequence_open_a_second_domain_and_one_kind_does_not():
    learner = METHODS["lvaegan"](
        latents=4,
        encoder_units=[32],
        decoder_units=[32],
        steps_per_batch=5,
        lr=3e-3,
        critic_every=OFF,
        window=6,
        max_domains=2,
    )
    for seed in range(10):
        learner.partial_fit(left_or_right(32, False, seed))
    assert learner.diagnostics_["domains"] == 1
    learner.partial_fit(left_or_right(32, True))
    assert learner.diagnostics_["domains"] == 2
