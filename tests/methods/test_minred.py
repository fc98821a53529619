"""MinRed's running means: what they are, that they stay with their images, what they decide."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from scale._errors import InputError
from scale.memory import POLICIES
from scale.methods import MinRed

from .learners import differences, fit, images, learn, make, state


def unit_features(learner: MinRed, batch: np.ndarray | torch.Tensor) -> torch.Tensor:
    features = torch.from_numpy(learner.transform(batch))
    return features / features.norm(dim=1, keepdim=True)


def test_new_images_begin_with_their_features_of_unit_length():
    learner = learn(make("minred"), images())
    torch.testing.assert_close(
        learner.memory_.columns["features"], unit_features(learner, images())
    )


def test_means_are_half_of_the_old_and_half_of_today_for_the_images_that_they_belong_to():
    learner = make("minred")
    expected: dict[int, torch.Tensor] = {}  # by arrival
    for seed in range(4):
        before = learner.memory_.arrivals.tolist() if seed else []
        stored = learner.memory_.images.clone() if seed else None
        batch = images(seed=seed)
        learn(learner, batch)
        for i, feature in enumerate(unit_features(learner, batch)):
            expected[12 * seed + i] = feature
        if stored is not None:
            for arrival, feature in zip(before, unit_features(learner, stored), strict=True):
                expected[arrival] = expected[arrival] / 2 + feature / 2
        kept = learner.memory_.arrivals.tolist()
        torch.testing.assert_close(
            learner.memory_.columns["features"],
            torch.stack([expected[arrival] for arrival in kept]),
        )
    assert len(kept) == 20


def test_the_image_that_leaves_is_one_of_the_closest_pair_of_means():
    learner = fit(make("minred", memory_size=20, lr=0.0), last=1)
    batch = images(8, seed=1)
    learn(learner, batch)
    twin = learner.memory_.images[[3]]  # a copy of an image in memory: nothing is closer
    learn(learner, twin)
    assert len(learner.memory_) == 20
    assert 3 not in learner.memory_.arrivals.tolist()
    assert 20 in learner.memory_.arrivals.tolist()


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_other_policies_work_and_only_those_that_look_at_features_keep_means(policy):
    learner = fit(make("minred", memory_policy=policy), last=3)
    assert len(learner.memory_) == 20
    assert ("features" in learner.memory_.columns) == POLICIES[policy].knows.features


def test_with_another_policy_it_equals_er():
    ours = fit(make("minred", memory_policy="reservoir"), last=3)
    assert differences(state(ours), state(fit(make("er"), last=3))) == []


def test_a_memory_of_size_zero_keeps_nothing():
    learner = fit(make("minred", memory_size=0), last=2)
    assert len(learner.memory_) == 0
    assert learner.memory_.columns == {}


@pytest.mark.parametrize("momentum", [-0.1, 1.5])
def test_an_impossible_momentum_is_refused(momentum):
    with pytest.raises(InputError, match="feature_momentum"):
        learn(make("minred", feature_momentum=momentum), images())


def test_what_memory_holds_is_told():
    assert make("minred").costs().memory == "20 images with their features"
    assert make("minred", memory_policy="fifo").costs().memory == "20 images"
