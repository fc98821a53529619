"""Losses against forgetting: they keep similarities close to those before this batch."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from scale._names import check_one_of
from scale._numbers import check_number
from scale.losses._gate import check_tensors

Direction = Literal["past-to-current", "current-to-past"]


def relation_distillation(
    dots: Tensor, past_dots: Tensor, kappa: float, kappa_past: float
) -> Tensor:
    """Return the cross-entropy of past and current relations (Co2L), averaged over the views.

    Parameters
    ----------
    dots, past_dots
        Dot products with -inf on the diagonal, (views, views).
    kappa, kappa_past
        Temperatures of the softmax over the other views.
    """
    check_tensors("views views", dots=dots, past_dots=past_dots)
    check_number("kappa", kappa, above=0)
    check_number("kappa_past", kappa_past, above=0)
    log_p = torch.log_softmax(dots / kappa, dim=1)
    p_past = torch.softmax(past_dots / kappa_past, dim=1)
    # The diagonal is 0 in p_past and -inf in log_p, and their product is NaN.
    return -(p_past * log_p.masked_fill(p_past == 0, 0)).sum(dim=1).mean()


def forgetting_loss(p: Tensor, p_past: Tensor, direction: Direction = "past-to-current") -> Tensor:
    """Return the KL divergence between past and current similarities, averaged over the views.

    Parameters
    ----------
    p, p_past
        Similarities with a zero diagonal, (views, views).
    direction
        ``"past-to-current"``: KL(p_past || p). ``"current-to-past"``: KL(p || p_past), the paper's
        formula, with its sign changed so that it can be minimised.
    """
    check_tensors("views views", p=p, p_past=p_past)
    check_one_of("direction", direction, get_args(Direction))
    a, b = (p_past, p) if direction == "past-to-current" else (p, p_past)
    tiny = torch.finfo(p.dtype).tiny
    # The zero diagonal adds zero; similarities that underflow must not give log 0.
    return (a * (a.clamp(min=tiny).log() - b.clamp(min=tiny).log())).sum() / len(p)
