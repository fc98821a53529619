from __future__ import annotations

import numpy as np
import pytest
import torch
from pytorch_metric_learning.losses import NTXentLoss
from scipy import stats

from scale._errors import InputError

from .learners import differences, fit, images, make, state


def learned(learner) -> dict[str, torch.Tensor]:
    """Weights, momenta and the generator of the views."""
    return {k: v for k, v in state(learner).items() if not k.startswith("memory")}


@pytest.mark.parametrize("option", [{"alpha": 0.0}, {"memory_size": 0}, {"memory_batch": 0}])
def test_lambda_1_and_nothing_to_mix_with_equal_simclr(option):
    lump, simclr = fit(make("lump", **option)), fit(make("simclr"))
    assert differences(learned(lump), learned(simclr)) == []
    assert lump.diagnostics_["lam"] == 1
    assert differences(learned(fit(make("lump"))), learned(simclr)) != []


def test_the_first_batch_is_not_mixed():
    lump, simclr = fit(make("lump"), last=1), fit(make("simclr"), last=1)
    assert differences(learned(lump), learned(simclr)) == []


@pytest.mark.parametrize("alpha", [0.4, 2.0])
def test_lambda_is_drawn_from_beta(alpha):
    learner = make("lump", alpha=alpha)
    learner.start((1, 28, 28))
    draws = [learner._draw_lambda() for _ in range(3000)]
    assert stats.kstest(draws, stats.beta(alpha, alpha).cdf).pvalue > 0.01
    following = np.corrcoef(draws[:-1], draws[1:])[0, 1]
    assert abs(following) < 0.05


def test_each_update_draws_its_own_lambda():
    one = [fit(make("lump", steps_per_batch=1), last=2).diagnostics_["lam"] for _ in range(2)]
    assert one[0] == one[1]
    two = fit(make("lump", steps_per_batch=2), last=2).diagnostics_["lam"]
    assert 0 < two < 1
    assert two != one[0]


def test_the_loss_is_nt_xent_on_views_mixed_by_one_lambda():
    learner = fit(make("lump", tau=0.2), last=2)
    generator = torch.Generator().manual_seed(0)
    stream, memory = (torch.randn(16, 1, 28, 28, generator=generator) for _ in range(2))
    found = learner.losses(stream, memory)
    lam = found["lam"].item()
    assert 0.01 < lam < 0.99
    z = learner.project(lam * stream + (1 - lam) * memory)
    expected = NTXentLoss(temperature=0.2)(z, torch.arange(8).repeat(2))
    torch.testing.assert_close(found["loss"], expected)


def watch(n: int, **options) -> tuple:
    """The memory views, and the learner, of one update for n images after 12 others."""
    learner = fit(make("lump", augmentation="none", **options), last=1)
    return learner.partner_views(n), learner


@pytest.mark.parametrize(
    ("n", "memory_batch", "partners"), [(8, 16, 8), (12, 12, 12), (30, 50, 12), (10, 4, 4)]
)
def test_every_stream_image_has_a_partner_and_none_has_two_more_than_another(
    n, memory_batch, partners
):
    views, learner = watch(n, memory_batch=memory_batch)
    assert len(views) == 2 * n
    assert len(learner.replayed_) == n
    counts = np.bincount(learner.replayed_, minlength=12)
    assert (counts > 0).sum() == partners
    assert counts.max() - counts[counts > 0].min() <= 1


def test_first_views_are_mixed_with_first_and_second_with_second():
    views, learner = watch(20)
    expected = learner.memory_.images[learner.replayed_].float() / 255
    torch.testing.assert_close(views, (expected.repeat(2, 1, 1, 1) - 0.5) / 0.25)


def test_a_repeated_partner_is_seen_in_other_views():
    learner = fit(make("lump", memory_batch=1), last=1)
    views = learner.partner_views(4)
    assert len(set(learner.replayed_.tolist())) == 1
    assert len(torch.unique(views, dim=0)) == 8


def test_a_negative_alpha_is_refused():
    with pytest.raises(InputError, match="alpha must be 0 or more"):
        make("lump", alpha=-0.1).partial_fit(images())
