from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from scale.losses import dot_products, relation_distillation


def views(count: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(count, 5, generator=generator, dtype=torch.float64)
    return torch.nn.functional.normalize(z, dim=1)


def slow(z: torch.Tensor, past: torch.Tensor, kappa: float, kappa_past: float) -> float:
    total = 0.0
    for i in range(len(z)):
        others = [k for k in range(len(z)) if k != i]
        now = torch.stack([z[i] @ z[k] / kappa for k in others]).exp()
        before = torch.stack([past[i] @ past[k] / kappa_past for k in others]).exp()
        now, before = now / now.sum(), before / before.sum()
        total += float(-(before * now.log()).sum())
    return total / len(z)


@given(st.integers(2, 8), st.integers(0, 100), st.floats(0.1, 2), st.floats(0.1, 2))
def test_it_is_the_mean_cross_entropy_of_the_relations(
    count: int, seed: int, kappa: float, kappa_past: float
) -> None:
    z, past = views(count, seed), views(count, seed + 1)
    found = relation_distillation(dot_products(z), dot_products(past), kappa, kappa_past)
    torch.testing.assert_close(float(found), slow(z, past, kappa, kappa_past))


def test_it_is_least_where_the_relations_are_the_past_ones() -> None:
    past = views(6, 0)
    z = past.clone().requires_grad_()
    relation_distillation(dot_products(z), dot_products(past), 0.5, 0.5).backward()
    assert z.grad is not None
    # Along the sphere: what is left of the gradient only changes lengths.
    along = z.grad - (z.grad * past).sum(1, keepdim=True) * past
    torch.testing.assert_close(along, torch.zeros_like(along), atol=1e-12, rtol=0)


def test_sharp_temperatures_stay_finite() -> None:
    z = views(6, 0).float().requires_grad_()
    loss = relation_distillation(dot_products(z), dot_products(views(6, 1).float()), 0.2, 1e-3)
    loss.backward()
    assert torch.isfinite(loss)
    assert z.grad is not None
    assert torch.isfinite(z.grad).all()
