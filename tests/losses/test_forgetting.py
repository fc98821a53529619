from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from scale.losses import dot_products, forgetting_loss, symmetric_sne

from . import slow

SIZES = {"views": st.integers(2, 9), "seed": st.integers(0, 10**6), "kappa": st.floats(0.05, 2)}
DIRECTIONS = ["past-to-current", "current-to-past"]


def similarity(views, seed, kappa=0.1, dtype=torch.float64):
    return symmetric_sne(dot_products(slow.unit_views(views, 4, seed).to(dtype)), kappa)


@given(**SIZES)
def test_loss_is_the_formula_in_both_directions(views, seed, kappa):
    p, past = similarity(views, seed, kappa), similarity(views, seed + 1, kappa)
    for a, b, direction in ((p, past, DIRECTIONS[0]), (past, p, DIRECTIONS[1])):
        expected = torch.tensor(slow.forgetting(a.tolist(), b.tolist()), dtype=torch.float64)
        loss = forgetting_loss(p, past, direction)
        torch.testing.assert_close(loss, expected, rtol=1e-9, atol=1e-12)


@given(**SIZES)
def test_loss_is_the_divergence_of_torch(views, seed, kappa):
    p, past = similarity(views, seed, kappa), similarity(views, seed + 1, kappa)
    off = ~torch.eye(views, dtype=torch.bool)
    expected = F.kl_div(p[off].log(), past[off], reduction="sum") / views
    torch.testing.assert_close(forgetting_loss(p, past), expected)


@given(**SIZES, direction=st.sampled_from(DIRECTIONS))
def test_loss_is_never_negative_and_zero_only_without_change(views, seed, kappa, direction):
    p, past = similarity(views, seed, kappa), similarity(views, seed + 1, kappa)
    assert forgetting_loss(p, p, direction) == 0
    loss = forgetting_loss(p, past, direction)
    assert loss > 0 or torch.allclose(p, past, atol=1e-7)


def test_the_default_is_past_to_current():
    p, past = similarity(6, 0), similarity(6, 1)
    assert forgetting_loss(p, past) == forgetting_loss(p, past, "past-to-current")
    assert forgetting_loss(p, past) != forgetting_loss(p, past, "current-to-past")


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("kappa", [1e-4, 1e-2, 1e4])
@pytest.mark.parametrize("equal", [True, False])
def test_gradient_is_finite_at_extreme_temperatures_and_for_equal_views(direction, kappa, equal):
    z = torch.ones(8, 4) / 2 if equal else slow.unit_views(8, 4, seed=0).float()
    z.requires_grad_()
    past = similarity(8, seed=1, kappa=kappa, dtype=torch.float32)
    loss = forgetting_loss(symmetric_sne(dot_products(z), kappa), past, direction)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(z.grad).all()


def test_the_past_similarities_pull_the_current_ones_towards_them():
    z = slow.unit_views(8, 4, seed=0).requires_grad_()
    past = similarity(8, seed=1)
    losses = []
    for _ in range(30):
        loss = forgetting_loss(symmetric_sne(dot_products(F.normalize(z, dim=1)), 0.1), past)
        (gradient,) = torch.autograd.grad(loss, z)
        z = (z - 0.02 * gradient).detach().requires_grad_()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0] / 2
