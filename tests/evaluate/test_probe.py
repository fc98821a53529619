import numpy as np
import pytest

from scale._errors import InputError
from scale.evaluate import linear_probe


def lines(count, seed, scale=1.0):
    """Classes that are linearly separable along the first dimension, drowned in a larger one."""
    rng = np.random.default_rng(seed)
    labels = np.arange(count) % 3
    features = np.stack([4.0 * labels + rng.normal(size=count) * 0.3, rng.normal(size=count)], 1)
    return (features * [1.0, scale]).astype(np.float32), labels + 5


def test_linearly_separable_classes_are_told_apart_at_any_scale_of_the_features():
    for scale in (1.0, 1e5):
        assert linear_probe(*lines(90, 0, scale), *lines(60, 1, scale), seed=0) == 1.0


def test_constant_features_score_at_chance():
    labels = np.arange(40) % 4
    assert linear_probe(np.ones((40, 3)), labels, np.ones((40, 3)), labels, seed=0) == 0.25


def test_a_bank_of_one_class_predicts_that_class():
    assert linear_probe(np.eye(3), [2, 2, 2], np.eye(3), [2, 0, 2], seed=0) == pytest.approx(2 / 3)


def test_features_that_are_not_finite_are_refused():
    with pytest.raises(InputError, match="query features hold NaN"):
        linear_probe(np.eye(2), [0, 1], np.full((2, 2), np.nan), [0, 1], seed=0)
