"""Distillation: a past model's projections should be predictable from the current ones."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from scale._numbers import check_number
from scale.losses._gate import check_tensors


def contrastive_distillation(predicted: Tensor, past: Tensor, kappa: float) -> Tensor:
    """Return InfoNCE between predicted and past projections of the same views (CaSSLe).

    It is symmetric: the mean of the losses from predicted to past and from past to predicted.
    Twins are negatives like any other view.

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
    check_tensors("views dim", predicted=predicted, past=past)
    check_number("kappa", kappa, above=0)
    logits = F.normalize(predicted, dim=1) @ F.normalize(past, dim=1).T / kappa  # (views, views)
    own = torch.arange(len(logits), device=logits.device)
    return (F.cross_entropy(logits, own) + F.cross_entropy(logits.T, own)) / 2
