"""Slow features: what neighbours in time share, beside a formula written out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from scale.export.families import export_module
from scale.methods import ScalePlus, load
from scale.methods.readout.slow import BLOCK, MARGIN, RIDGE, SlowFeatures

from .learners import differences, fit, images, make, state

D, BATCHES, N = 12, 20, 64


def stream(ordered: bool, seed: int = 0) -> list[torch.Tensor]:
    """Batches of noise in D dimensions; two dimensions have the class, one class after another."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(4), BATCHES * N // 4)
    if not ordered:
        rng.shuffle(labels)
    rows = rng.normal(size=(BATCHES * N, D))
    rows[:, 0] += 3 * (labels % 2)
    rows[:, 1] += 3 * (labels // 2)
    return list(torch.from_numpy(rows).float().split(N))


def learned(batches: list[torch.Tensor]) -> SlowFeatures:
    slow = SlowFeatures(D, 4)
    for batch in batches:
        slow.learn(batch)
    slow.fit()
    return slow


def test_classes_one_after_another_are_slow_and_noise_is_not():
    slow = learned(stream(ordered=True))
    assert slow.strength > 0.5
    weights = slow.matrix.norm(dim=1)
    assert weights[:2].min() > 5 * weights[2:].max()


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_a_shuffled_stream_has_no_slow_features(seed):
    slow = learned(stream(ordered=False, seed=seed))
    assert slow.strength == 0
    assert not slow(torch.ones(3, D)).any()


def test_directions_and_lengths_are_those_of_the_formula():
    batches = stream(ordered=True)
    slow = learned(batches)
    weights = np.arange(1, BATCHES + 1) / sum(range(1, BATCHES + 1))
    blocks = np.stack([batch.double().numpy().reshape(2, 32, D) for batch in batches])
    within = sum(
        w * np.mean([np.cov(block.T) for block in pair], axis=0)
        for w, pair in zip(weights, blocks, strict=True)
    )
    means = blocks.mean(2)  # (batches, 2, D)
    mean = (weights[:, None] * means.mean(1)).sum(0)
    between = sum(
        w * np.outer(m - mean, m - mean) / 2
        for w, pair in zip(weights, means, strict=True)
        for m in pair
    )
    between = between - within / 32
    total = within + between
    total += RIDGE * np.trace(total) / D * np.eye(D)
    r, directions = scipy.linalg.eigh(between, total)
    edge = MARGIN * float(slow.edge())
    scales = np.sqrt(np.clip((r - edge) / (1 - edge), 0, 1))
    rows = batches[3].double().numpy()
    expected = (rows - mean) @ (directions * scales)
    found = slow(batches[3]).double().numpy()
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-3)


def test_noise_stays_below_the_edge_and_comes_near_it():
    """The edge is the limit for many dimensions; here there are enough."""
    slow, generator = SlowFeatures(60, 8), torch.Generator().manual_seed(0)
    for _ in range(40):
        slow.learn(torch.randn(N, 60, generator=generator))
    between = slow.between - slow.within / BLOCK
    total = slow.within + between
    r = scipy.linalg.eigh(between.numpy(), total.numpy(), eigvals_only=True)
    assert 0.7 * float(slow.edge()) < r[-1] < 1.1 * float(slow.edge())


def test_a_drift_of_the_learner_is_no_change_of_the_stream():
    still, moving = SlowFeatures(D, 4), SlowFeatures(D, 4)
    step = torch.ones(D)
    for t, batch in enumerate(stream(ordered=False)):
        still.learn(batch)
        moving.learn(batch + t * step, step if t else None)
    torch.testing.assert_close(moving.between, still.between, rtol=1e-3, atol=1e-4)
    assert moving.strength == 0
    blind = learned([batch + t * step for t, batch in enumerate(stream(ordered=False))])
    assert blind.strength > 0


def test_a_batch_smaller_than_a_block_says_nothing():
    learner = make("scale-plus", time_weight=0.3)
    for seed in range(3):
        learner.partial_fit(images(BLOCK - 1, seed=seed))
    assert learner.readout_.fitted
    assert learner.slow_.batches == 0
    learner.partial_fit(images(BLOCK, seed=4))
    assert learner.slow_.batches == 1


@pytest.mark.parametrize("time_weight", [0.0, 1.0])
def test_an_embedding_has_the_encoders_dimension_with_and_without_slow_features(time_weight):
    learner = fit(make("scale-plus", time_weight=time_weight))
    assert isinstance(learner, ScalePlus)
    assert (learner.slow_ is None) == (time_weight == 0)
    assert learner.transform(images(5)).shape == (5, learner.output_dim_)


def test_a_learner_with_slow_features_goes_on_from_its_file_and_can_be_exported(tmp_path):
    whole = make("scale-plus", time_weight=0.3)
    whole.partial_fit(images(40)).partial_fit(images(40, seed=1))
    whole.slow_.matrix.normal_(generator=torch.Generator().manual_seed(0))  # as if some were slow
    whole.save(tmp_path / "learner")
    loaded = load(tmp_path / "learner")
    for learner in (whole, loaded):
        learner.partial_fit(images(40, seed=2))
    assert differences(state(whole), state(loaded)) == []
    loaded.slow_.matrix.normal_(generator=torch.Generator().manual_seed(1))
    batch = images(6)
    exported = export_module(loaded)(torch.from_numpy(batch)).numpy()
    np.testing.assert_allclose(exported, loaded.transform(batch), atol=1e-4)
