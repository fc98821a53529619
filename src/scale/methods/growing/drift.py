"""A test for a change of the mean between two batches, by Hoeffding's bound."""

from __future__ import annotations

import math

import torch
from torch import Tensor

ALPHA_DRIFT, CUTS = 0.001, (0.25, 0.5, 0.75)
ROUNDING = 1e-5  # relative differences that are no change


def drifts(before: Tensor, now: Tensor) -> bool:
    """Return whether the mean of features has changed between two batches.

    The rows of both batches follow each other. The part that ends at a quarter, at a half or at
    three quarters is compared with all rows: the first of them whose mean and bound are not below
    those of all. There is drift if its mean is too far from that of all to be chance. So a mean
    that rises by more than the bounds is no drift, as in the released code.

    Parameters
    ----------
    before, now
        Features of the images of two batches, (m, d) and (n, d).

    Examples
    --------
    >>> same, higher = torch.linspace(0, 1, 100)[:, None], torch.linspace(5, 6, 100)[:, None]
    >>> drifts(same, same), drifts(higher, same), drifts(same, higher)
    (False, True, False)
    """
    rows = torch.cat([before, now]).double()  # (total, d)
    total = len(rows)
    span = rows.amax(0) - rows.amin(0)  # (d,)
    if len(before) == 0 or float(span.mean()) <= ROUNDING * float(rows.abs().mean()):
        return False
    mean, log = rows.mean(0), math.log(1 / ALPHA_DRIFT)
    for v in (int(cut * total) for cut in CUTS if int(cut * total)):
        part = rows[:v].mean(0)
        high = float(part.mean()) + math.sqrt(log / (2 * v))
        if float(mean.mean()) + math.sqrt(log / (2 * total)) <= high:
            chance = float(span.mean()) * math.sqrt((total - v) / (2 * v * total) * log)
            return float((part - mean).abs().mean()) >= chance
    return False
