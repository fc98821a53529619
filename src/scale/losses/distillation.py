"""Distillation: what a past model said of a view can be predicted from what is said today."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def contrastive_distillation(predicted: Tensor, past: Tensor, kappa: float) -> Tensor:
    """InfoNCE between predicted and past projections of the same views, both ways (CaSSLe).

    The mean of two losses: each predicted projection has to find its own past one among those of
    all views, and each past one its predicted one. Twins are negatives like any other view.

    Parameters
    ----------
    predicted, past
        One row per view, (views, dim); only their directions count.
    kappa
        Temperature.

    Examples
    --------
    >>> past = torch.eye(4)
    >>> round(contrastive_distillation(5 * past, past, kappa=0.2).item(), 4)
    0.02
    """
    logits = F.normalize(predicted, dim=1) @ F.normalize(past, dim=1).T / kappa  # (views, views)
    own = torch.arange(len(logits), device=logits.device)
    return (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2
