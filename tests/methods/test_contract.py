"""What every registered method promises."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from scale._errors import InputError
from scale.methods import METHODS, load

from .learners import (
    SMALL,
    differences,
    fit,
    global_random_state,
    images,
    learn,
    make,
    seen,
    state,
    state_after,
)

pytestmark = pytest.mark.parametrize("name", list(METHODS))


def test_making_a_learner_only_stores_its_parameters(name):
    before = global_random_state()
    method = METHODS[name]
    params = {field.name: object() for field in dataclasses.fields(method)}
    learner = method(**params)
    assert vars(learner) == params
    assert all(getattr(learner, key) is value for key, value in params.items())
    assert learner.get_params() == params
    assert global_random_state() == before


def test_the_registered_name_is_the_learners(name):
    assert METHODS[name].name == name


def test_presets_are_parameters_of_the_method(name):
    for params in METHODS[name].presets.values():
        make(name, **params)


def test_partial_fit_returns_the_learner_and_keeps_its_parameters(name):
    learner = make(name)
    params = dict(learner.get_params())
    assert learn(learner, images()) is learner
    assert learner.get_params() == params


def test_features_are_one_finite_float32_row_per_image(name):
    learner = seen(name)
    for n in (1, 7):
        features = learner.transform(images(n))
        assert isinstance(features, np.ndarray)
        assert features.dtype == np.float32
        assert features.ndim == 2
        assert len(features) == n
        assert np.isfinite(features).all()


def test_an_image_has_the_same_features_in_any_company(name):
    learner = seen(name)
    together = learner.transform(images(9))
    alone = np.concatenate([learner.transform(image[None]) for image in images(9)])
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-5)


def test_learning_changes_the_features_of_methods_that_learn(name):
    learner = make(name)
    before = learner.transform(images())
    changed = not np.array_equal(fit(learner, last=1).transform(images()), before)
    assert changed == METHODS[name].learns


def test_transform_changes_nothing(name):
    learner = seen(name)
    before = state(learner)
    first = learner.transform(images(20, seed=9))
    assert differences(before, state(learner)) == []
    np.testing.assert_array_equal(first, learner.transform(images(20, seed=9)))


def test_features_are_the_callers_own(name):
    learner = seen(name)
    learner.transform(images())[:] = np.nan
    assert np.isfinite(learner.transform(images())).all()


def test_learning_is_the_same_with_and_without_transform_in_between(name):
    asked = make(name)
    asked.transform(images(3, seed=9))  # before anything was learned
    for batch in range(2):
        fit(asked, batch, batch + 1).transform(images(3, seed=9))
    assert differences(state(asked), state_after(name, 2)) == []


def test_runs_of_one_seed_are_equal_and_of_another_differ_where_it_matters(name):
    first, again, other = seen(name), fit(make(name), last=2), fit(make(name, seed=4), last=2)
    assert differences(state_after(name, 2), state(again)) == []
    np.testing.assert_array_equal(first.transform(images()), again.transform(images()))
    differ = not np.array_equal(first.transform(images()), other.transform(images()))
    assert differ == METHODS[name].seeded


def test_learning_does_not_depend_on_the_global_generators(name):
    expected = state_after(name, 2)
    torch.rand(5)
    np.random.random(5)  # noqa: NPY002
    assert differences(expected, state(fit(make(name), last=2))) == []


def test_the_global_generators_are_left_alone(name, tmp_path):
    before = global_random_state()
    learner = fit(make(name), last=2)
    learner.transform(images())
    learner.save(tmp_path / "learner")
    load(tmp_path / "learner")
    assert global_random_state() == before


@pytest.mark.parametrize(("stop", "end"), [(1, 2), (2, 4)])
def test_saving_loading_and_going_on_equals_not_stopping(name, stop, end, tmp_path):
    stopped = seen(name, stop)
    stopped.save(tmp_path / "learner.safetensors")
    resumed = load(tmp_path / "learner.safetensors")
    assert type(resumed) is type(stopped)
    assert resumed.get_params() == stopped.get_params()
    assert differences(state(stopped), state(resumed)) == []
    np.testing.assert_array_equal(stopped.transform(images()), resumed.transform(images()))
    fit(resumed, stop, end)
    assert differences(state_after(name, end), state(resumed)) == []


def test_saving_changes_nothing(name, tmp_path):
    learner = seen(name)
    before = state(learner)
    learner.save(tmp_path / "a")
    learner.save(tmp_path / "b")
    assert differences(before, state(learner)) == []
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_loaded_state_is_not_shared(name, tmp_path):
    learner = seen(name)
    learner.save(tmp_path / "learner")
    before = state(learner)
    fit(load(tmp_path / "learner"), 2, 3)
    assert differences(before, state(learner)) == []


def test_the_callers_images_are_neither_kept_nor_changed(name):
    learner = make(name)
    for seed, kind in enumerate([np.asarray, torch.from_numpy] * 2):
        batch = images(seed=seed)
        given = kind(batch.copy())
        learn(learner, given)
        np.testing.assert_array_equal(np.asarray(given), batch)
        given[:] = 0
    assert differences(state_after(name, 4), state(learner)) == []


def test_channels_may_come_first_or_last(name):
    learner = make(name)
    for seed in range(2):
        learn(learner, images(seed=seed).transpose(0, 2, 3, 1))
    assert differences(state_after(name, 2), state(learner)) == []
    np.testing.assert_array_equal(
        learner.transform(images()), learner.transform(images().transpose(0, 2, 3, 1))
    )


def test_tensors_are_taken_like_arrays(name):
    learner = make(name)
    for seed in range(2):
        learn(learner, torch.from_numpy(images(seed=seed)))
    assert differences(state_after(name, 2), state(learner)) == []
    np.testing.assert_array_equal(
        learner.transform(images()), learner.transform(torch.from_numpy(images()))
    )


def test_views_into_other_arrays_are_taken_like_copies(name):
    batch = images(24)[::-2, :, ::-1]
    view, copy = learn(make(name), batch), learn(make(name), batch.copy())
    assert differences(state(view), state(copy)) == []


def test_a_batch_may_be_a_single_image(name):
    learner = make(name)
    for seed in range(3):
        learn(learner, images(1, seed=seed))
    assert np.isfinite(learner.transform(images())).all()


def test_batches_may_have_any_size(name):
    learner = make(name)
    for n in (12, 1, 30):
        learn(learner, images(n, seed=n))
    assert np.isfinite(learner.transform(images())).all()


def test_colour_images_are_learned_from(name):
    learner = make(name)
    for seed in range(2):
        learn(learner, images(6, seed, shape=(3, 32, 32)))
    assert len(learner.transform(images(2, shape=(3, 32, 32)))) == 2


def test_memory_is_bounded_over_a_long_stream(name):
    learner = make(name)
    if hasattr(learner, "steps_per_batch"):
        learner.steps_per_batch = 1
    for batch in range(8):
        learn(learner, images(6, seed=batch))
        if learner.memory_ is not None:
            most = min(SMALL["memory_size"], 6 * (batch + 1))
            # CLIMB's memory drops whole groups of images, so it is not always full.
            assert len(learner.memory_) == most or (name == "climb" and len(learner.memory_) < most)
    if learner.memory_ is not None:
        assert learner.memory_.seen == 48


def test_a_device_can_be_named(name, tmp_path):
    learner = fit(make(name, device="cpu"), last=1)
    learner.save(tmp_path / "learner")
    assert load(tmp_path / "learner", device="cpu").device == "cpu"


def test_a_device_that_is_not_there_is_refused_by_its_name(name):
    with pytest.raises(InputError, match="gpuu"):
        fit(make(name, device="gpuu"), last=1)
