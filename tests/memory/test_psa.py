from __future__ import annotations

import numpy as np
import pytest
from diversipy.subset import psa_select as reference
from hypothesis import given
from hypothesis import strategies as st

from scale.memory.psa import psa_select

LAWS = {
    "gaussian": lambda rng, n, d: rng.normal(size=(n, d)),
    "relu": lambda rng, n, d: np.maximum(rng.normal(size=(n, d)), 0),
    "low rank": lambda rng, n, d: rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)),
    "exponential": lambda rng, n, d: rng.exponential(size=(n, d)) * rng.exponential(size=d),
}


def draw(law: str, n: int, d: int, seed: int) -> np.ndarray:
    """Distinct random points, single precision as features are."""
    points = LAWS[law](np.random.default_rng(seed), n, d).astype(np.float32)
    return np.unique(points, axis=0)


def rows(points: np.ndarray) -> set[bytes]:
    return {row.tobytes() for row in points}


def assert_same_selection(points: np.ndarray, size: int) -> None:
    chosen = psa_select(points, size)
    assert len(chosen) == len(set(chosen.tolist())) == size
    exact = points.astype(np.float64)
    assert rows(exact[chosen]) == rows(reference(exact, size))


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(("n", "d", "size"), [(60, 3, 20), (200, 16, 64), (300, 64, 250)])
def test_selection_is_that_of_diversipy(law, n, d, size):
    assert_same_selection(draw(law, n, d, seed=n), size)


@given(
    law=st.sampled_from(sorted(LAWS)),
    n=st.integers(2, 60),
    d=st.integers(1, 8),
    seed=st.integers(0, 10**6),
    part=st.floats(0, 1),
)
def test_selection_is_that_of_diversipy_for_any_size(law, n, d, seed, part):
    points = draw(law, n, d, seed)
    assert_same_selection(points, 1 + int(part * (len(points) - 1)))


@given(
    n=st.integers(1, 30),
    d=st.integers(1, 3),
    values=st.integers(1, 4),
    seed=st.integers(0, 10**6),
    size=st.integers(1, 40),
)
def test_copies_are_taken_only_when_nothing_else_is_left(n, d, values, seed, size):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, values, size=(n, d)).astype(np.float32)
    chosen = psa_select(points, size)
    assert chosen.tolist() == sorted(set(chosen.tolist()))
    assert len(chosen) == min(size, n)
    assert all(0 <= index < n for index in chosen)
    assert len(rows(points[chosen])) == min(size, len(rows(points)))


def test_equal_points_are_kept_from_the_earliest_on():
    assert psa_select(np.ones((7, 3), np.float32), 4).tolist() == [0, 1, 2, 3]


def test_points_that_differ_in_the_last_bit_are_different():
    one = np.float32(1)
    after = np.nextafter(one, np.float32(2))
    points = np.array([[5], [5], [one], [after], [9]], np.float32)
    assert psa_select(points, 4).tolist() == [0, 2, 3, 4]


@pytest.mark.parametrize("size", [5, 6, 1000])
def test_all_are_kept_when_there_is_room(size):
    assert psa_select(draw("gaussian", 5, 2, 0), size).tolist() == [0, 1, 2, 3, 4]


def test_a_single_one_is_the_nearest_to_the_centre_of_the_box():
    points = np.array([[0, 0], [10, 4], [9, 1], [5.5, 2], [1, 3]], np.float32)
    assert psa_select(points, 1).tolist() == [3]


def test_on_a_line_the_parts_are_halves_of_halves():
    points = np.array([[0], [1], [2], [3], [10], [11], [12], [16]], np.float32)
    # [0 .. 16] is cut at 8, [10 .. 16] at 13, [0 .. 3] at 1.5; of a pair the earlier stays.
    assert psa_select(points, 2).tolist() == [1, 6]
    assert psa_select(points, 3).tolist() == [1, 5, 7]
    assert psa_select(points, 4).tolist() == [0, 2, 5, 7]


def test_the_points_are_left_as_they_were():
    points = draw("relu", 50, 4, 0)
    before = points.copy()
    psa_select(points, 10)
    assert np.array_equal(points, before)


def test_the_selection_covers_a_rare_group_that_a_random_one_would_miss():
    rng = np.random.default_rng(0)
    crowd = rng.normal(size=(500, 8))
    rare = rng.normal(size=(3, 8)) + 20
    chosen = psa_select(np.concatenate([crowd, rare]).astype(np.float32), 10)
    assert (chosen >= 500).any()
