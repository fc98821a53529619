"""CMP: the coding rate, the mean of many views, no memory."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from scale.losses import total_coding_rate

from .learners import fit, images, learn, make


def unit(n: int, dim: int, seed: int = 0) -> torch.Tensor:
    z = torch.randn(n, dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.nn.functional.normalize(z, dim=1)


@pytest.mark.parametrize(("n", "dim"), [(3, 7), (7, 3), (4, 4), (1, 5)])
def test_the_coding_rate_is_a_sum_over_singular_values(n, dim):
    z = unit(n, dim)
    values = np.linalg.svd(z.numpy(), compute_uv=False)
    slow = sum(0.5 * math.log(1 + dim / (n * 0.2) * float(v) ** 2) for v in values)
    assert float(total_coding_rate(z, 0.2)) == pytest.approx(slow, rel=1e-10)


def test_the_coding_rate_falls_when_rows_come_together():
    z = unit(6, 8)
    together = torch.nn.functional.normalize(z + 3 * z[:1], dim=1)
    point = z[:1].expand(6, 8)
    rates = [float(total_coding_rate(rows, 0.2)) for rows in (z, together, point)]
    assert rates[0] > rates[1] > rates[2]


def test_the_loss_predicts_the_mean_of_all_views_from_each():
    learner = fit(make("cmp", patches=4), last=1)
    views = learner.draw_views(torch.from_numpy(images(5)))
    assert views.shape[0] == 20
    found = learner.losses(views)
    z = learner.projector_(learner.encoder_(views)).view(4, 5, -1)
    predicted = learner.heads_["predictor"](z.flatten(0, 1)).view(4, 5, -1)
    cosine = torch.nn.functional.cosine_similarity(predicted, z.mean(0)[None], dim=2)
    rate = torch.stack([total_coding_rate(one, 0.2) for one in z]).mean()
    torch.testing.assert_close(found["loss"], -200 * cosine.mean() - rate)


def test_it_keeps_nothing_and_has_no_temperature():
    learner = learn(make("cmp"), images())
    assert learner.memory_ is None
    assert "tau" not in learner.get_params()
    assert learner.costs().views == 2 * 3


def test_updates_by_the_coding_rate_alone_raise_it():
    learner = make("cmp", similarity=0.0, lr=0.01)
    learner.start((1, 28, 28))
    views = learner.draw_views(torch.from_numpy(images(12)))
    found = []
    for _ in range(6):
        losses = learner.losses(views)
        found.append(losses["coding"].item())
        learner.step(losses)
    assert found[-1] < found[0]  # a loss: minus the rate
