"""Contrast of stream and memory with each other, and not inside either."""

from __future__ import annotations

import torch
from torch import Tensor

from scale.losses.contrastive import stream_and_memory_twins


def cross_contrastive_loss(dots: Tensor, n: int, tau: float) -> Tensor:
    """Tell views of the stream from views of memory: the cross-task loss of Osiris.

    For a stream view, -log of the softmax of its twin among the twin and all views of memory; for
    a view of memory, among its twin and all stream views. Mean over each side, then over the two.

    Parameters
    ----------
    dots
        Dot products with -inf on the diagonal, (2(m+n), 2(m+n)); the first 2n views are those of
        the stream. Both sides have at least one image.
    n
        Images in the stream batch.
    tau
        Temperature.
    """
    views = len(dots)
    positives = stream_and_memory_twins(n, views // 2 - n).to(dots.device)  # (2(m+n), 2(m+n))
    of_stream = torch.arange(views, device=dots.device) < 2 * n
    same_side = of_stream[:, None] == of_stream[None, :]
    logits = dots.masked_fill(same_side & ~positives, -torch.inf) / tau
    loss = -torch.log_softmax(logits, dim=1)[positives]  # (2(m+n),)
    return (loss[: 2 * n].mean() + loss[2 * n :].mean()) / 2
