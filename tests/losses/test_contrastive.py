from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pytorch_metric_learning.losses import NTXentLoss, SupConLoss
from pytorch_metric_learning.reducers import MeanReducer

from scale.losses import contrastive_loss, dot_products, twin_positives

from . import slow

SIZES = {
    "n": st.integers(1, 4),
    "m": st.integers(0, 4),
    "dim": st.integers(1, 6),
    "seed": st.integers(0, 10**6),
    "tau": st.floats(0.05, 2),
}


def close(actual, expected):
    torch.testing.assert_close(
        actual, torch.as_tensor(expected, dtype=actual.dtype), rtol=1e-8, atol=1e-10
    )


@given(**SIZES, data=st.data())
def test_loss_is_the_formula_for_any_positives(n, m, dim, seed, tau, data):
    views = 2 * (n + m)
    z = slow.unit_views(views, dim, seed)
    others = [st.sets(st.sampled_from([j for j in range(views) if j != i])) for i in range(2 * n)]
    positives = data.draw(st.tuples(*others))
    loss = contrastive_loss(dot_products(z), slow.as_mask(list(positives), views), tau)
    close(loss, slow.contrastive(z.numpy(), list(positives), tau))


@given(**SIZES | {"tau": st.floats(0.2, 1)})  # at lower ones a far negative is lost in rounding
def test_memory_views_are_negatives_only(n, m, dim, seed, tau):
    z = slow.unit_views(2 * (n + m), dim, seed)
    loss = contrastive_loss(dot_products(z), twin_positives(n, len(z)), tau)
    close(loss, slow.contrastive(z.numpy(), [{slow.twin(i, n)} for i in range(2 * n)], tau))
    without = contrastive_loss(dot_products(z[: 2 * n]), twin_positives(n, 2 * n), tau)
    assert loss > without or m == 0


@given(n=st.integers(1, 5), m=st.integers(0, 3), first=st.integers(0, 3))
def test_each_anchor_has_its_twin_and_nothing_else(n, m, first):
    views = 2 * (n + m + first)
    sets = slow.as_sets(twin_positives(n, views, first=first))
    assert sets == [{first + slow.twin(i, n)} for i in range(2 * n)]


@pytest.mark.parametrize("tau", [0.07, 0.5])
def test_with_twins_it_is_nt_xent_of_pytorch_metric_learning(tau):
    z, n = slow.unit_views(12, 5, seed=1), 6
    images = torch.arange(n).repeat(2)
    expected = NTXentLoss(temperature=tau)(z, images)
    close(contrastive_loss(dot_products(z), twin_positives(n, 2 * n), tau), expected)


@pytest.mark.parametrize("tau", [0.07, 0.5])
def test_with_labels_it_is_supcon_of_pytorch_metric_learning(tau):
    z = slow.unit_views(12, 5, seed=2)
    labels = torch.tensor([0, 1, 1, 2, 2, 2]).repeat(2)
    same = (labels[:, None] == labels[None]).fill_diagonal_(False)
    expected = SupConLoss(temperature=tau, reducer=MeanReducer())(z, labels)
    close(contrastive_loss(dot_products(z), same, tau), expected)


@given(n=st.integers(1, 6), m=st.integers(0, 6), tau=st.floats(0.01, 10))
def test_equal_views_cost_the_logarithm_of_the_others(n, m, tau):
    views = 2 * (n + m)
    z = torch.ones(views, 1, dtype=torch.float64)
    close(contrastive_loss(dot_products(z), twin_positives(n, views), tau), math.log(views - 1))


def test_twins_equal_and_all_else_orthogonal_has_a_closed_form():
    n, tau = 4, 0.5
    z = torch.eye(n, dtype=torch.float64).repeat(2, 1)
    expected = math.log(math.exp(1 / tau) + 2 * n - 2) - 1 / tau
    close(contrastive_loss(dot_products(z), twin_positives(n, 2 * n), tau), expected)


def test_an_anchor_without_positives_counts_as_zero():
    z = slow.unit_views(6, 4, seed=0)
    positives = twin_positives(3, 6)
    positives[2] = False
    expected = slow.contrastive(z.numpy(), [{3}, {4}, set(), {0}, {1}, {2}], 0.1)
    close(contrastive_loss(dot_products(z), positives, 0.1), expected)


@given(n=st.integers(2, 6), m=st.integers(0, 3), seed=st.integers(0, 10**6))
def test_order_of_the_images_does_not_matter(n, m, seed):
    z = slow.unit_views(2 * (n + m), 5, seed)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    shuffled = torch.cat([z[order], z[n : 2 * n][order], z[2 * n :]])
    positives = twin_positives(n, len(z))
    close(
        contrastive_loss(dot_products(shuffled), positives, 0.1),
        contrastive_loss(dot_products(z), positives, 0.1),
    )


@pytest.mark.parametrize("tau", [1e-4, 1e-2, 1e4])
@pytest.mark.parametrize("equal", [True, False])
def test_gradient_is_finite_at_extreme_temperatures_and_for_equal_views(tau, equal):
    z = torch.ones(8, 4) / 2 if equal else slow.unit_views(8, 4, seed=0).float()
    z.requires_grad_()
    loss = contrastive_loss(dot_products(z), twin_positives(3, 8), tau)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(z.grad).all()


def test_gradient_is_that_of_finite_differences():
    z = slow.unit_views(8, 3, seed=5).requires_grad_()
    positives = twin_positives(3, 8)
    assert torch.autograd.gradcheck(lambda z: contrastive_loss(dot_products(z), positives, 0.3), z)
