import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from scale._errors import InputError
from scale.evaluate import collapsed, effective_rank, mean_cosine


def slow_rank(features):
    singular = np.linalg.svd(features - features.mean(axis=0), compute_uv=False)
    share = singular[singular > 1e-9] / singular.sum()
    return np.exp(-(share * np.log(share)).sum())


@settings(max_examples=40)
@given(st.integers(3, 40), st.integers(2, 40), st.integers(0, 10**6))
def test_rank_equals_the_one_from_a_singular_value_decomposition(count, dims, seed):
    features = np.random.default_rng(seed).normal(size=(count, dims)).astype(np.float32)
    assert effective_rank(features) == pytest.approx(slow_rank(features.astype(float)), rel=1e-3)


def test_rank_ignores_scale_and_a_common_offset():
    features = np.random.default_rng(0).normal(size=(200, 10))
    assert effective_rank(features * 100 + 7) == pytest.approx(effective_rank(features), rel=1e-3)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
def test_equal_rows_have_rank_zero_and_are_collapsed(value):
    features = np.full((1000, 32), value, dtype=np.float32)
    assert effective_rank(features) == 0
    assert collapsed(features)


def test_mean_cosine_equals_the_mean_over_all_pairs():
    features = np.random.default_rng(0).normal(1, 1, size=(30, 6))
    unit = features / np.linalg.norm(features, axis=1, keepdims=True)
    pairs = (unit @ unit.T)[~np.eye(30, dtype=bool)]
    assert mean_cosine(features) == pytest.approx(pairs.mean(), abs=1e-6)


def test_features_on_a_line_or_around_a_point_are_collapsed_and_spread_ones_are_not():
    rng = np.random.default_rng(0)
    line = rng.normal(size=(100, 1)) * np.ones((1, 20))
    assert collapsed(line)
    assert collapsed(100 + rng.normal(size=(100, 20)))
    assert not collapsed(rng.normal(size=(100, 20)))


@pytest.mark.parametrize("count", [1, 2])
def test_too_few_rows_are_never_called_collapsed(count):
    assert not collapsed(np.ones((count, 4)))


def test_tensors_are_taken_even_inside_a_graph():
    features = torch.randn(50, 8, generator=torch.Generator().manual_seed(0), requires_grad=True)
    assert effective_rank(features) == effective_rank(features.detach().numpy())
    assert not collapsed(features)


def test_features_that_are_not_finite_are_refused():
    with pytest.raises(InputError, match="diverged"):
        effective_rank([[np.nan, 0.0], [1.0, 2.0]])
