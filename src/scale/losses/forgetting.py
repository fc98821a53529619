"""Forgetting: similarities should stay what they were before this batch."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Direction = Literal["past-to-current", "current-to-past"]


def forgetting_loss(p: Tensor, p_past: Tensor, direction: Direction = "past-to-current") -> Tensor:
    """KL divergence between past and current similarities, averaged over the views.

    Parameters
    ----------
    p, p_past
        Similarities with a zero diagonal, (views, views).
    direction
        ``"past-to-current"``: KL(p_past || p). ``"current-to-past"``: KL(p || p_past), the paper's
        formula with the sign of a loss that is minimised.
    """
    a, b = (p_past, p) if direction == "past-to-current" else (p, p_past)
    tiny = torch.finfo(p.dtype).tiny
    # The zero diagonal adds zero; similarities that underflow must not give log 0.
    return (a * (a.clamp(min=tiny).log() - b.clamp(min=tiny).log())).sum() / len(p)
