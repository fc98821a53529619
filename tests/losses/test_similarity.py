from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from scale.losses import dot_products, symmetric_sne, twins

from . import slow

SIZES = {"views": st.integers(2, 9), "dim": st.integers(1, 6), "seed": st.integers(0, 10**6)}


@given(**SIZES)
def test_dot_products_are_those_of_all_pairs_without_the_diagonal(views, dim, seed):
    z = slow.unit_views(views, dim, seed)
    dots = dot_products(z)
    for i in range(views):
        for j in range(views):
            expected = -torch.inf if i == j else sum(a * b for a, b in zip(z[i], z[j], strict=True))
            torch.testing.assert_close(dots[i, j], torch.as_tensor(expected, dtype=z.dtype))


@given(**SIZES, kappa=st.floats(0.02, 2))
def test_similarity_is_the_formula(views, dim, seed, kappa):
    z = slow.unit_views(views, dim, seed)
    p = symmetric_sne(dot_products(z), kappa)
    expected = torch.tensor(slow.similarity(z.numpy(), kappa), dtype=torch.float64)
    torch.testing.assert_close(p, expected, rtol=1e-9, atol=1e-12)


@given(**SIZES, kappa=st.floats(1e-4, 1e4))
def test_similarity_is_symmetric_has_a_zero_diagonal_and_sums_to_the_views(views, dim, seed, kappa):
    p = symmetric_sne(dot_products(slow.unit_views(views, dim, seed).float()), kappa)
    assert torch.equal(p, p.T)
    assert (p.diagonal() == 0).all()
    assert (p >= 0).all()
    torch.testing.assert_close(p.sum(), torch.tensor(float(views)), rtol=1e-5, atol=0)


def test_equal_views_are_all_equally_similar():
    p = symmetric_sne(dot_products(torch.ones(5, 3)), kappa=0.1)
    expected = torch.full((5, 5), 1 / 4).fill_diagonal_(0)
    torch.testing.assert_close(p, expected)


def test_twins_of_twins_are_the_views_themselves():
    other = twins(4)
    assert other.tolist() == [slow.twin(i, 4) for i in range(8)]
    assert other[other].tolist() == list(range(8))
