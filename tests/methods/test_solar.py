"""SOLAR: the overlap of cones, deviations in memory, who leaves."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from scale.losses import overlap_loss
from scale.memory._policy import Candidates
from scale.memory.deviation import DEVIATION, REPLAYS, ByDeviation

from .learners import differences, fit, images, learn, make, state


def slow_overlap(h: np.ndarray) -> float:
    n = len(h) // 2
    unit = h / np.linalg.norm(h, axis=1, keepdims=True)
    axes, radii = [], []
    for i in range(n):
        axis = unit[i] + unit[n + i]
        axes.append(axis / np.linalg.norm(axis))
        radii.append(math.acos(float(unit[i] @ axes[i])))
    pairs = [
        max(0.0, radii[i] + radii[j] - math.acos(float(axes[i] @ axes[j])))
        for i in range(n)
        for j in range(n)
        if i != j
    ]
    return float(np.mean(pairs))


def test_the_overlap_is_the_mean_over_pairs():
    h = torch.randn(10, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert float(overlap_loss(h)) == pytest.approx(slow_overlap(h.numpy()), rel=1e-6)
    assert slow_overlap(h.numpy()) > 0


def test_equal_views_far_apart_do_not_overlap_and_one_image_has_none():
    assert float(overlap_loss(torch.eye(3).repeat(2, 1))) < 1e-2
    assert float(overlap_loss(torch.eye(2))) == 0


def test_the_overlap_has_finite_gradients_for_equal_views():
    h = torch.eye(3).repeat(2, 1).requires_grad_()
    overlap_loss(h).backward()
    assert torch.isfinite(h.grad).all()


def test_low_deviation_and_many_replays_leave_first_and_new_images_enter():
    columns = {
        DEVIATION: torch.tensor([0.9, 0.1, 0.8, 0.85, 0.0, 0.0]),
        REPLAYS: torch.tensor([0, 0, 9, 0, 0, 0]),
    }
    candidates = Candidates(4, torch.arange(6), None, None, 1, columns)
    kept = ByDeviation(0.5)(candidates, 4, torch.Generator())
    assert kept.tolist() == [0, 3, 4, 5]
    kept = ByDeviation(0.0)(candidates, 5, torch.Generator())
    assert kept.tolist() == [0, 2, 3, 4, 5]
    assert ByDeviation(0.5)(candidates, 1, torch.Generator()).tolist() == [5]


def test_a_batch_larger_than_memory_leaves_its_last_images():
    learner = learn(make("solar", memory_size=5), images(12))
    assert learner.memory_.arrivals.tolist() == list(range(7, 12))


def test_deviations_are_renewed_when_images_are_replayed():
    learner = fit(make("solar", memory_size=60, steps_per_batch=1), last=2)
    before = learner.memory_.columns[DEVIATION].clone()
    fit(learner, 2, 3)
    replayed = learner.replayed_
    torch.testing.assert_close(
        learner.memory_.columns[DEVIATION][:24][replayed], learner._deviation[12:]
    )
    others = torch.ones(24, dtype=torch.bool)
    others[replayed] = False
    assert torch.equal(learner.memory_.columns[DEVIATION][:24][others], before[others])
    # 8 in each of the last two batches
    assert int(learner.memory_.columns[REPLAYS].sum()) == 16


def test_without_overlap_it_is_er_with_another_memory():
    def shared(learner):
        names = ("encoder.", "projector.", "view_rng.")
        return {k: v for k, v in state(learner).items() if k.startswith(names)}

    ours, er = fit(make("solar", omega=0.0), last=1), fit(make("er"), last=1)
    assert differences(shared(ours), shared(er)) == []


def test_it_has_no_memory_policy_to_choose():
    assert not {"memory_policy", "memory_clusters"} & make("solar").get_params().keys()
