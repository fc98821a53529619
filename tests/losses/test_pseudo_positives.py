from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from scale.losses import dot_products, pseudo_positives, symmetric_sne

from . import slow

SIZES = {
    "n": st.integers(1, 5),
    "m": st.integers(0, 5),
    "seed": st.integers(0, 10**6),
    "kappa": st.floats(0.03, 1),
}
MU = st.floats(0, 2)


def similarity(n, m, seed, kappa):
    return symmetric_sne(dot_products(slow.unit_views(2 * (n + m), 4, seed)), kappa)


@given(**SIZES, mu=MU)
def test_positives_are_the_views_above_the_threshold(n, m, seed, kappa, mu):
    p = similarity(n, m, seed, kappa)
    off_diagonal = p[~torch.eye(len(p), dtype=torch.bool)]
    threshold = off_diagonal.mean() + mu * (off_diagonal.max() - off_diagonal.mean())
    assume((p - threshold).abs().min() > 1e-12)  # else rounding decides
    assert slow.as_sets(pseudo_positives(p, n, mu)) == slow.pseudo_positives(p.tolist(), n, mu)


@given(**SIZES, mu=MU)
def test_positives_hold_the_twin_never_the_view_itself_and_never_memory(n, m, seed, kappa, mu):
    sets = slow.as_sets(pseudo_positives(similarity(n, m, seed, kappa).float(), n, mu))
    assert len(sets) == 2 * n
    for i, group in enumerate(sets):
        assert slow.twin(i, n) in group
        assert i not in group
        assert all(j < 2 * n for j in group)


@given(**SIZES, mus=st.lists(MU, min_size=2, max_size=2).map(sorted))
def test_a_higher_threshold_only_takes_positives_away(n, m, seed, kappa, mus):
    p = similarity(n, m, seed, kappa)
    low, high = (pseudo_positives(p, n, mu) for mu in mus)
    assert not (high & ~low).any()


@given(**SIZES, mu=st.floats(1.0001, 100))
def test_above_the_greatest_similarity_only_twins_are_left(n, m, seed, kappa, mu):
    sets = slow.as_sets(pseudo_positives(similarity(n, m, seed, kappa).float(), n, mu))
    assert sets == [{slow.twin(i, n)} for i in range(2 * n)]


def test_at_the_greatest_similarity_only_twins_are_left():
    for seed in range(100):
        sets = slow.as_sets(pseudo_positives(similarity(5, 3, seed, 0.1).float(), 5, 1.0))
        assert sets == [{slow.twin(i, 5)} for i in range(10)]


@pytest.mark.parametrize("mu", [0.05, 0.3])
def test_two_tight_groups_are_found(mu):
    z = torch.eye(2, dtype=torch.float64)[[0, 0, 1, 1, 0, 0, 1, 1]]  # four images, two views
    p = symmetric_sne(dot_products(z), 0.1)
    groups = [{0, 1, 4, 5}, {2, 3, 6, 7}]
    expected = [groups[i % 4 // 2] - {i} for i in range(8)]
    assert slow.as_sets(pseudo_positives(p, 4, mu)) == expected
