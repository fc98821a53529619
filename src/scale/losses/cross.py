"""Contrastive loss between stream and memory."""

from __future__ import annotations

import torch
from torch import Tensor

from scale._numbers import check_number
from scale.losses._gate import check_stacked, check_tensors
from scale.losses.contrastive import stream_and_memory_twins


def cross_contrastive_loss(dots: Tensor, n: int, tau: float) -> Tensor:
    """Return the cross-task loss of Osiris, which separates stream views from memory views.

    For a stream view it is -log softmax of its twin among the twin and all memory views. For a
    memory view it is that of its twin among the twin and all stream views. The result is the mean
    of the two sides' means.

    Parameters
    ----------
    dots
        Dot products with -inf on the diagonal, (2(m+n), 2(m+n)), stream views first. Both sides
        must have at least one image.
    n
        Images in the stream batch.
    tau
        Temperature.
    """
    check_tensors("views views", dots=dots)
    check_number("tau", tau, above=0)
    views = len(dots)
    check_stacked("dots", views, n)
    positives = stream_and_memory_twins(n, views // 2 - n).to(dots.device)  # (2(m+n), 2(m+n))
    of_stream = torch.arange(views, device=dots.device) < 2 * n
    same_side = of_stream[:, None] == of_stream[None, :]
    logits = dots.masked_fill(same_side & ~positives, -torch.inf) / tau
    loss = -torch.log_softmax(logits, dim=1)[positives]  # (2(m+n),)
    return (loss[: 2 * n].mean() + loss[2 * n :].mean()) / 2
