"""the losses of a batch and their gradients in z, without the encoder (the paper's Table 5)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from pytorch_metric_learning.losses import SupConLoss
from torch import Tensor, nn

from benchmarks._measure import Row, median_of, row
from scale.losses import (
    contrastive_loss,
    dot_products,
    forgetting_loss,
    pseudo_positives,
    relation_distillation,
    symmetric_sne,
    twin_positives,
)
from scale.methods import SCALE, Co2L

BATCHES = ((128, 128), (64, 128), (128, 64))  # n and m
PAPER = {  # seconds, on its machine
    "co2l": {(128, 128): 0.050, (64, 128): 0.034, (128, 64): 0.034},
    "scale": {(128, 128): 0.051, (64, 128): 0.035, (128, 64): 0.035},
}


def main(quick: bool = False) -> list[Row]:
    """Time the losses of Co2L and SCALE for several sizes of stream batch and replay."""
    losses = {"co2l": co2l_loss, "scale": scale_loss}
    repeats = 1 if quick else 5
    rows = [
        measure(name, losses[name], *sizes, repeats, quick=quick)
        for sizes in BATCHES
        for name in losses
    ]
    return [*rows, nt_xent(32 if quick else 512, repeats)]


def nt_xent(views: int, repeats: int) -> Row:
    """Return the row of the contrastive loss alone, beside pytorch-metric-learning's."""
    z = nn.functional.normalize(
        torch.randn(views, 128, generator=torch.Generator().manual_seed(0))
    ).requires_grad_()
    twins = twin_positives(views // 2, views)
    theirs, labels = SupConLoss(temperature=0.1), torch.arange(views // 2).repeat(2)
    losses: dict[str, Callable[[], Tensor]] = {
        "ours": lambda: contrastive_loss(dot_products(z), twins, 0.1),
        "theirs": lambda: theirs(z, labels),
    }
    if not torch.allclose(losses["ours"](), losses["theirs"](), rtol=1e-4):
        raise AssertionError("our contrastive loss is not pytorch-metric-learning's")
    runs: dict[str, Callable[[], object]] = {
        name: partial(_backward, loss) for name, loss in losses.items()
    }
    cost = median_of({**runs, "product": lambda: z.detach() @ z.detach().T}, repeats)
    return row(
        f"NT-Xent of {views} views",
        cost["ours"] * 1e3,
        ("pytorch-metric-learning, SupConLoss", cost["theirs"] * 1e3),
        ("one product of all pairs", cost["product"] * 1e3),
    )


def _backward(loss: Callable[[], Tensor]) -> None:
    loss().backward()  # type: ignore[no-untyped-call]


def measure(
    name: str,
    loss: Callable[[Tensor, Tensor, int], Tensor],
    n: int,
    m: int,
    repeats: int,
    *,
    quick: bool,
) -> Row:
    """Return the row of one method at one size, beside the paper and one product of all pairs."""
    share = 16 if quick else 1
    views = 2 * (n + m) // share
    generator = torch.Generator().manual_seed(0)
    z = nn.functional.normalize(torch.randn(views, 128, generator=generator))  # (2(m+n), 128)
    past = nn.functional.normalize(z + 0.1 * torch.randn(z.shape, generator=generator))
    z.requires_grad_()
    runs: dict[str, Callable[[], object]] = {
        "ours": lambda: loss(z, past, n // share).backward(),  # type: ignore[no-untyped-call]
        "product": lambda: past @ past.T,
    }
    best = median_of(runs, repeats)
    return row(
        f"losses of {name}, n {n}, m {m}",
        best["ours"] * 1e3,
        ("the paper's, on its machine", PAPER[name][n, m] * 1e3),
        ("one product of all pairs", best["product"] * 1e3),
    )


def scale_loss(z: Tensor, past: Tensor, n: int) -> Tensor:
    """Return the loss of SCALE with its defaults."""
    learner = SCALE()
    dots = dot_products(z)  # (2(m+n), 2(m+n))
    p = symmetric_sne(dots, learner.kappa)
    of_stream = pseudo_positives(p.detach(), n, learner.mu)
    of_memory = twin_positives((len(z) - 2 * n) // 2, len(z), first=2 * n)
    contrastive = contrastive_loss(dots, torch.cat([of_stream, of_memory]), learner.tau)
    p_past = symmetric_sne(dot_products(past), learner.kappa)
    return contrastive + learner.lam * forgetting_loss(p, p_past, learner.forgetting_direction)


def co2l_loss(z: Tensor, past: Tensor, n: int) -> Tensor:
    """Return the loss of Co2L with its defaults."""
    learner = Co2L()
    dots = dot_products(z)
    contrastive = contrastive_loss(dots, twin_positives(n, len(z)), learner.tau)
    distillation = relation_distillation(
        dots, dot_products(past), learner.kappa, learner.kappa_past
    )
    return contrastive + learner.lam * distillation
