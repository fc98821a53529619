"""A learner is a scikit-learn transformer: clone, set_params, fit, the last step of a pipeline."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from torch import nn

from scale._errors import InputError
from scale.methods import METHODS

from .learners import differences, fit, images, make, state


def invert(batch: np.ndarray) -> np.ndarray:
    return 255 - batch


@pytest.mark.parametrize("name", list(METHODS))
def test_a_clone_has_the_same_parameters_and_has_learned_nothing(name):
    learner = make(name, seed=3)
    learner.start((1, 28, 28))
    copy = clone(learner)
    assert copy.get_params() == learner.get_params()
    assert copy.image_shape_ is None


def test_a_clone_has_its_own_copy_of_an_encoder():
    learner = make("er", encoder=nn.Sequential(nn.Flatten(), nn.Linear(784, 4)))
    assert clone(learner).encoder is not learner.encoder


def test_parameters_can_be_set_before_the_first_batch_and_not_after():
    learner = make("er").set_params(seed=5, steps_per_batch=1)
    same = make("er", seed=5, steps_per_batch=1)
    assert differences(state(fit(learner)), state(fit(same))) == []
    with pytest.raises(InputError, match=r"once learning has started; make a new learner"):
        learner.set_params(lr=0.1)
    assert clone(learner).set_params(lr=0.1).lr == 0.1
    with pytest.raises(InputError, match="no parameter 'learning_rate'"):
        make("er").set_params(learning_rate=0.1)


def test_fit_is_one_pass_from_the_start():
    learner = fit(make("er", steps_per_batch=1))
    data = images(150)
    fresh = make("er", steps_per_batch=1).partial_fit(data[:128]).partial_fit(data[128:])
    assert differences(state(learner.fit(data)), state(fresh)) == []


def test_fit_gives_labels_only_to_a_learner_that_needs_them():
    labels = np.arange(12) % 3
    assert make("er").fit(images(), labels).memory_.columns == {}
    assert make("supcon").fit(images(), labels).memory_.columns["labels"].tolist() == [*labels]


def test_it_is_the_last_step_of_a_pipeline():
    pipeline = make_pipeline(FunctionTransformer(invert), make("er", steps_per_batch=1))
    expected = make("er", steps_per_batch=1).fit(invert(images())).transform(invert(images()))
    np.testing.assert_array_equal(pipeline.fit(images()).transform(images()), expected)
    assert clone(pipeline).set_params(er__tau=0.5).named_steps["er"].tau == 0.5


def test_a_learner_that_has_learned_can_be_put_into_a_pipeline():
    learner = fit(make("er"))
    pipeline = make_pipeline(FunctionTransformer(), learner)
    np.testing.assert_array_equal(pipeline.transform(images()), learner.transform(images()))
