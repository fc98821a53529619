from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cosine
from torch import nn

import scale
from scale._errors import InputError
from scale.evaluate import Guard, guard, view_retrieval
from scale.methods import METHODS, ContrastiveLearner, Learner, load
from tests.methods.learners import (
    differences,
    global_random_state,
    images,
    learn,
    make,
    state,
)

BY_ENCODER = [
    name
    for name in METHODS
    if issubclass(METHODS[name], ContrastiveLearner) and make(name).embeds_by_encoder
]


def features(count: int, dims: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, dims)).astype(np.float32)


def experienced(name: str = "er", **params: object) -> Learner:
    """A learner with at least 50 images in memory."""
    learner = make(name, **{"memory_size": 2000, "steps_per_batch": 1, **params})
    for seed in range(2):
        learn(learner, images(40, seed=seed))
    return learner


@settings(max_examples=30)
@given(st.integers(1, 20), st.integers(1, 8), st.integers(0, 10**6))
def test_retrieval_equals_the_one_counted_view_by_view(count, dims, seed):
    of_images = features(count, dims, seed)
    views = of_images + features(count, dims, seed + 1)
    found = [
        min(range(count), key=lambda j: round(cosine(views[i], of_images[j]), 5)) == i
        for i in range(count)
    ]
    if dims > 1:  # in one dimension all that point the same way are equally near
        assert view_retrieval(views, of_images) == pytest.approx(np.mean(found))


def test_retrieval_is_whole_for_equal_features_and_nothing_for_exchanged_ones():
    rows = np.eye(6)
    assert view_retrieval(rows, rows) == 1
    assert view_retrieval(np.roll(rows, 1, axis=0), rows) == 0


def test_retrieval_is_chance_when_all_features_are_equal():
    assert view_retrieval(np.ones((50, 4)), np.ones((50, 4))) == pytest.approx(1 / 50)


def test_retrieval_does_not_depend_on_the_length_of_features():
    views, of_images = features(30, 5, 0), features(30, 5, 1)
    assert view_retrieval(views * 9, of_images) == view_retrieval(views, of_images)


@pytest.mark.parametrize(
    ("views", "of_images", "message"),
    [(np.ones((2, 3)), np.ones((3, 3)), "one view of each"), ([[np.nan]], [[1.0]], "NaN")],
)
def test_features_that_do_not_fit_are_refused(views, of_images, message):
    with pytest.raises(InputError, match=message):
        view_retrieval(views, of_images)


def test_better_is_what_is_two_standard_errors_above_the_start():
    error = 100 * np.sqrt((0.3 * 0.7 + 0.2 * 0.8) / 100)  # 6.1 points
    assert not Guard(30.0, 20.0, images=100).better
    assert Guard(20.0 + 2.2 * error, 20.0, images=100).better
    assert Guard(30.0, 20.0, images=512).better
    assert not Guard(20.0, 30.0, images=512).better
    assert not Guard(20.0, 20.0, images=512).better


def test_a_record_gives_the_guard_back():
    for told in (Guard(30.0, 20.0, 512), Guard(30.0, 20.0, 512, encoder_score=25.0)):
        assert Guard.from_json(told.to_json()) == told


@pytest.mark.parametrize("name", ["simclr", "stam", "pixels"])
def test_methods_without_memory_have_none(name):
    assert guard(learn(make(name), images(50))) is None


def test_there_is_nothing_to_judge_by_before_there_are_fifty_images():
    learner = make("er", memory_size=100, steps_per_batch=1)
    assert guard(learner) is None
    assert guard(learner.partial_fit(images(49))) is None
    assert guard(learner.partial_fit(images(1, seed=1))) is not None


def test_there_is_nothing_to_judge_by_without_views():
    assert guard(experienced(augmentation="none")) is None


@pytest.mark.parametrize("name", ["er", "scale", "scale-plus"])
def test_asking_changes_nothing_and_a_loaded_learner_gets_the_same_answer(name, tmp_path):
    learner = experienced(name)
    learner.save(tmp_path / "learner")
    untouched = load(tmp_path / "learner")
    random_before = global_random_state()
    first = guard(learner)
    assert first is not None
    assert guard(learner) == first
    assert guard(load(tmp_path / "learner")) == first
    assert global_random_state() == random_before
    for each in (learner, untouched):
        learn(each, images(4, seed=9))
    assert differences(state(learner), state(untouched)) == []


@pytest.mark.parametrize("name", BY_ENCODER)
def test_a_method_starts_with_the_random_encoder_of_its_seed(name):
    learner, random = make(name, seed=3), make("random", seed=3)
    np.testing.assert_array_equal(learner.transform(images(3)), random.transform(images(3)))


def test_the_start_is_the_encoder_before_the_first_batch():
    learner, fresh = experienced("er"), make("er")
    fresh.start((1, 28, 28))
    learner.encoder_.load_state_dict(fresh.encoder_.state_dict())
    estimate = guard(learner)
    assert estimate.score == estimate.start_score
    assert not estimate.better


def test_the_start_of_scale_plus_is_its_encoder_alone():
    """So patches and read-out, which are there from the first batch on, count as learned."""
    ours, er = experienced("scale-plus"), experienced("er")
    assert guard(ours).start_score == guard(er).start_score


def test_the_encoder_of_scale_plus_is_judged_alone_too():
    """Patches may carry the learner while its encoder has lost what it started with."""
    ours, er = experienced("scale-plus"), experienced("er")
    assert guard(er).encoder_score is None
    assert guard(ours).encoder_score == guard(er).score
    with torch.no_grad():
        for weight in ours.encoder_.parameters():
            weight.zero_()
    ours.load_state_dict(ours.state_dict())  # makes the read-out anew
    broken = guard(ours)
    assert not broken.encoder_better
    assert "its encoder alone: no" in str(broken)


def test_a_module_of_ones_own_is_remembered_as_it_came(tmp_path):
    def own() -> nn.Module:
        return nn.Sequential(nn.AvgPool2d(2), nn.Flatten(), nn.Linear(196, 20))

    module = own()
    learner = experienced(encoder=module, lr=0.3)
    before = guard(learner)
    with torch.no_grad():
        module[2].weight.zero_()
        module[2].bias.zero_()
    assert guard(learner) == before
    learner.save(tmp_path / "learner")
    assert guard(load(tmp_path / "learner", encoder=own())) == before


def test_images_larger_than_the_views_are_judged_too():
    learner = make("er", memory_size=100, augmentation="tinyimagenet", steps_per_batch=1)
    assert guard(learner.partial_fit(images(60, shape=(3, 64, 64)))) is not None


def test_at_most_512_images_and_a_view_of_each_pass_the_encoder():
    learner = make("er", memory_size=700, steps_per_batch=1)
    learner.partial_fit(images(600))
    passed: list[int] = []
    learner.encoder_.register_forward_hook(lambda module, given, out: passed.append(len(out)))
    guard(learner)
    assert sum(passed) == 2 * 512


@pytest.mark.slow
def test_learning_from_real_digits_is_better_and_losing_the_weights_is_not():
    digits = scale.load_dataset("digits").images[:300]
    learner = make("er", memory_size=300, memory_batch=50, steps_per_batch=12)
    for batch in scale.batches(digits, batch_size=50):
        learner.partial_fit(batch)
    assert scale.guard(learner).better
    with torch.no_grad():
        for weight in learner.encoder_.parameters():
            weight.zero_()
    assert not scale.guard(learner).better
