from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st
from pytorch_metric_learning.losses import NTXentLoss

from scale.losses import contrastive_distillation

from . import slow


def rows(count: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(count, 5, generator=generator, dtype=torch.float64)


@given(st.integers(1, 8), st.integers(0, 100), st.floats(0.05, 2))
def test_it_is_the_slow_formula(count: int, seed: int, kappa: float) -> None:
    predicted, past = rows(count, seed), rows(count, seed + 1)
    found = contrastive_distillation(predicted, past, kappa)
    expected = slow.contrastive_distillation(predicted.numpy(), past.numpy(), kappa)
    torch.testing.assert_close(float(found), expected)


def test_each_way_is_nt_xent_against_the_other_side() -> None:
    predicted, past, own = rows(8, 0), rows(8, 1), torch.arange(8)
    same = own.clone()  # with the very same labels the library leaves out a row's own column
    nt_xent = NTXentLoss(temperature=0.2)
    there = nt_xent(predicted, own, ref_emb=past, ref_labels=same)
    back = nt_xent(past, own, ref_emb=predicted, ref_labels=same)
    torch.testing.assert_close(contrastive_distillation(predicted, past, 0.2), (there + back) / 2)


def test_lengths_do_not_count() -> None:
    predicted, past = rows(6, 0), rows(6, 1)
    torch.testing.assert_close(
        contrastive_distillation(3 * predicted, past / 7, 0.2),
        contrastive_distillation(predicted, past, 0.2),
    )


def test_it_falls_when_predictions_come_nearer_to_the_past() -> None:
    predicted, past = rows(6, 0), rows(6, 1)
    losses = [contrastive_distillation(predicted.lerp(past, t), past, 0.2) for t in (0, 0.3, 1)]
    assert losses[0] > losses[1] > losses[2] > 0


def test_a_single_view_has_nothing_to_be_mistaken_for() -> None:
    assert contrastive_distillation(rows(1, 0), rows(1, 1), 0.2) == 0


def test_a_sharp_temperature_stays_finite() -> None:
    predicted = rows(6, 0).float().requires_grad_()
    loss = contrastive_distillation(predicted, rows(6, 1).float(), 1e-3)
    loss.backward()
    assert torch.isfinite(loss)
    assert predicted.grad is not None
    assert torch.isfinite(predicted.grad).all()
