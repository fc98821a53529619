"""A test for a change of the mean between two batches, by Hoeffding's bound."""

from __future__ import annotations

import math

from torch import Tensor

ALPHA_DRIFT, CUTS = 0.001, (0.25, 0.5, 0.75)
ROUNDING = 1e-5  # relative differences that are no change


def drifts(before: Tensor, now: Tensor) -> bool:
    """Return whether the mean of a number per image has changed between two batches.

    The numbers of both batches, one after the other, are scaled to [0, 1]. Of the parts that end
    at a quarter, a half and three quarters, those count whose mean and bound are not below those of
    all. There is drift if such a part's mean is too far from the mean of all to be chance.

    Parameters
    ----------
    before, now
        One number for each image, (m,) and (n,).

    Examples
    --------
    >>> import torch
    >>> same, higher = torch.linspace(0, 1, 100), torch.linspace(5, 6, 100)
    >>> drifts(same, same), drifts(higher, same)
    (False, True)
    """
    values = [*before.tolist(), *now.tolist()]
    low, high = min(values), max(values)
    if len(before) == 0 or high - low <= ROUNDING * abs(high):
        return False
    scaled = [(value - low) / (high - low) for value in values]
    total, log = len(scaled), math.log(1 / ALPHA_DRIFT)
    mean = sum(scaled) / total
    for cut in CUTS:
        part = scaled[: int(cut * total)]
        if not part:
            continue
        first = sum(part) / len(part)
        counts = mean + math.sqrt(log / (2 * total)) <= first + math.sqrt(log / (2 * len(part)))
        chance = math.sqrt((total - len(part)) / (2 * len(part) * total) * log)
        if counts and abs(first - mean) >= chance:
            return True
    return False
