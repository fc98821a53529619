from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from scale.memory.minred import minred_select


def exact_closeness(a: list[int], b: list[int]) -> Fraction:
    """The cosine squared, with its sign: in the order of the cosines, and a ratio of integers."""
    dot = sum(x * y for x, y in zip(a, b, strict=True))
    squares = sum(x * x for x in a) * sum(y * y for y in b)
    return Fraction(0) if squares == 0 else Fraction(dot * abs(dot), squares)


def float_closeness(a: list[float], b: list[float]) -> float:
    return float(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)))


def naive(points, size, closeness):
    """argmin_i min_{j != i} d_cos(i, j), the first of equals, over all pairs for every removal."""
    left = list(range(len(points)))
    while len(left) > size:
        nearest = [
            max((closeness(points[i], points[j]) for j in left if j != i), default=None)
            for i in left
        ]
        del left[nearest.index(max(nearest, key=lambda c: (c is not None, c)))]
    return left


@given(
    points=st.integers(1, 3).flatmap(
        lambda d: st.lists(
            st.lists(st.integers(-3, 3), min_size=d, max_size=d), min_size=1, max_size=14
        )
    ),
    part=st.floats(0, 1),
)
@example(points=[[1, 1], [2, 2], [1, 0], [3, 0], [0, 0], [0, 0], [3, 3]], part=0.3)
def test_ties_and_copies_are_resolved_as_in_exact_arithmetic(points, part):
    size = 1 + int(part * (len(points) - 1))
    features = torch.tensor(points, dtype=torch.float32)
    assert minred_select(features, size).tolist() == naive(points, size, exact_closeness)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("n", "d", "size"), [(30, 2, 12), (40, 6, 25), (25, 64, 3)])
def test_features_are_dropped_as_by_the_naive_way(seed, n, d, size):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, d)).astype(np.float32)
    points[rng.integers(n, size=5)] = points[rng.integers(n, size=5)] * 2  # the same direction
    expected = naive(points.astype(np.float64), size, lambda a, b: round(float_closeness(a, b), 12))
    assert minred_select(torch.from_numpy(points), size).tolist() == expected


def test_many_that_share_a_neighbour_which_goes_are_followed():
    """Spokes around hubs that are closest to each other: every removal widows all spokes."""
    rng = np.random.default_rng(0)
    spokes = np.ones(16) + 0.1 * rng.normal(size=(30, 16))
    hubs = np.ones(16) + 0.01 * rng.normal(size=(10, 16))
    points = np.concatenate([spokes, hubs]).astype(np.float32)
    expected = naive(points.astype(np.float64), 8, float_closeness)
    assert minred_select(torch.from_numpy(points), 8).tolist() == expected


def test_of_a_pair_the_earlier_goes():
    points = torch.tensor([[0, 1.0], [1, 0], [1, 0.01]])
    assert minred_select(points, 2).tolist() == [0, 2]
    assert minred_select(points.flip(0), 2).tolist() == [1, 2]


def test_length_does_not_matter():
    points = torch.tensor([[1.0, 0], [1e6, 1e5], [1e-6, 0], [0, 1]])
    assert minred_select(points, 3).tolist() == [1, 2, 3]


def test_of_copies_the_latest_stays():
    one = torch.randn(5, 64, generator=torch.Generator().manual_seed(0))
    assert minred_select(one.repeat(4, 1), 5).tolist() == [15, 16, 17, 18, 19]
    assert minred_select(one.repeat_interleave(4, 0), 5).tolist() == [3, 7, 11, 15, 19]


def test_of_equally_close_copies_the_earliest_go_first_not_what_rounding_says():
    one = torch.randn(40, 64, generator=torch.Generator().manual_seed(0))
    assert minred_select(one.repeat(3, 1), 60).tolist() == list(range(60, 120))


def test_a_neighbour_that_left_no_longer_counts_in_a_tie():
    # The first two are at 45 degrees, like the last two; then the second goes, for the third.
    points = torch.tensor([[1.0, 0, 0, 0], [1, 1, 0, 0], [1, 2, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]])
    assert minred_select(points, 3).tolist() == [0, 2, 4]


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_when_all_are_equal_the_latest_stay(value):
    assert minred_select(torch.full((9, 4), value), 3).tolist() == [6, 7, 8]


def test_a_row_of_zeros_is_far_from_all():
    points = torch.tensor([[0.0, 0], [1, 1], [1, 1.2]])
    assert minred_select(points, 2).tolist() == [0, 2]


@pytest.mark.parametrize("size", [5, 6, 100])
def test_all_are_kept_when_there_is_room(size):
    assert minred_select(torch.randn(5, 3), size).tolist() == [0, 1, 2, 3, 4]


def test_a_crowd_makes_room_for_what_is_rare():
    generator = torch.Generator().manual_seed(0)
    crowd = torch.tensor([1.0, 0, 0]) + 0.05 * torch.randn(60, 3, generator=generator)
    rare = torch.tensor([[0.0, 1, 0], [0, 0, 1]])
    kept = minred_select(torch.cat([rare, crowd]), 10)
    assert kept[:2].tolist() == [0, 1]
