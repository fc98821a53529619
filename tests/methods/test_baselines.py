"""Each baseline's loss against its formula or against the method that it must equal."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pytorch_metric_learning.losses import NTXentLoss

from scale.methods import ER, SCALE, Co2L, Learner, SimCLR

COMMON = {"encoder": "cnn", "augmentation": "mnist", "steps_per_batch": 1}


def batches(count: int, n: int = 12) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.integers(0, 256, (n, 1, 28, 28), dtype=np.uint8) for _ in range(count)]


def views_of(learner: Learner, n: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(2 * n, 1, 28, 28, generator=generator)


def nt_xent(z: torch.Tensor, twins: torch.Tensor, tau: float) -> torch.Tensor:
    loss: torch.Tensor = NTXentLoss(temperature=tau)(z, twins)
    return loss


def weights(learner: SimCLR | ER | Co2L | SCALE) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in learner.encoder_.parameters()])


def test_simclr_is_nt_xent_on_the_stream() -> None:
    learner = SimCLR(**COMMON)
    learner.start((1, 28, 28))
    views = views_of(learner, 8, 0)
    found = learner.losses(views)["loss"]
    expected = nt_xent(learner.project(views), torch.arange(8).repeat(2), learner.tau)
    torch.testing.assert_close(found, expected)


def test_simclr_has_no_memory_and_no_option_for_one() -> None:
    learner = SimCLR(**COMMON).partial_fit(batches(1)[0])
    assert learner.memory_ is None
    assert not any(name.startswith("memory") for name in learner.get_params())


def test_er_is_nt_xent_on_stream_and_memory_together() -> None:
    learner = ER(**COMMON)
    learner.start((1, 28, 28))
    stream, memory = views_of(learner, 8, 0), views_of(learner, 5, 1)
    found = learner.losses(stream, memory)["loss"]
    z = learner.project(torch.cat([stream, memory]))
    twins = torch.cat([torch.arange(8).repeat(2), 100 + torch.arange(5).repeat(2)])
    torch.testing.assert_close(found, nt_xent(z, twins, learner.tau))


def test_er_without_a_memory_equals_simclr() -> None:
    plain, replaying = SimCLR(**COMMON), ER(**COMMON, memory_size=0)
    for batch in batches(3):
        plain.partial_fit(batch)
        replaying.partial_fit(batch)
    assert torch.equal(weights(plain), weights(replaying))


def test_co2l_without_distillation_equals_scale_with_twins_only_and_no_forgetting() -> None:
    same = {**COMMON, "memory_policy": "random", "memory_size": 20, "memory_batch": 6}
    co2l = Co2L(**same, lam=0.0)
    scale = SCALE(**same, lam=0.0, mu=2.0, memory_anchors=False)
    for batch in batches(3):
        co2l.partial_fit(batch)
        scale.partial_fit(batch)
    assert torch.equal(weights(co2l), weights(scale))


def test_co2l_distils_from_the_model_before_this_batch() -> None:
    learner = Co2L(**{**COMMON, "steps_per_batch": 3})
    first, second = batches(2)
    learner.partial_fit(first)
    before = weights(learner).clone()
    learner.partial_fit(second)
    past = torch.cat([p.flatten() for p in learner.past_.encoder.parameters()])
    assert torch.equal(past, before)
    assert not torch.equal(weights(learner), before)
    assert learner.diagnostics_["distillation"] > 0


@pytest.mark.parametrize(
    "learner",
    [
        SimCLR(**COMMON),
        ER(**COMMON, memory_batch=0),  # a replayed copy of an image would be its own negative
        Co2L(**COMMON, memory_batch=0),
    ],
    ids=lambda learner: learner.name,
)
def test_a_baseline_learns_from_what_it_sees(learner: SimCLR | ER | Co2L) -> None:
    learner.steps_per_batch = 15
    batch = batches(1, n=16)[0]
    first = learner.partial_fit(batch).diagnostics_["loss"]
    assert learner.partial_fit(batch).diagnostics_["loss"] < first
