"""Keep what varies most between views and was replayed least (SOLAR)."""

from __future__ import annotations

import torch
from torch import Tensor

from scale.memory._policy import Candidates, Policy

DEVIATION, REPLAYS = "deviation", "replays"  # columns of the memory


class ByDeviation(Policy):
    """Keep the new images, and of the old ones those with the highest scores.

    A score is the deviation, scaled to [0, 1], minus `gamma` x the number of replays over the
    largest. It needs the columns `DEVIATION` and `REPLAYS`, so a method sets it as the policy of
    its own memory.
    """

    def __init__(self, gamma: float) -> None:
        self.gamma = gamma

    def __call__(self, candidates: Candidates, size: int, generator: torch.Generator) -> Tensor:
        new = torch.arange(candidates.stored, len(candidates))[-size:]
        columns = {name: rows[: candidates.stored] for name, rows in candidates.columns.items()}
        scores = deviation_scores(columns[DEVIATION], columns[REPLAYS], self.gamma)
        old = scores.argsort(descending=True, stable=True)[: size - len(new)]
        return torch.cat([old.sort().values, new])


def deviation_scores(deviation: Tensor, replays: Tensor, gamma: float) -> Tensor:
    """Return the score of each image, (n,); the lowest leave memory first.

    Examples
    --------
    >>> deviation_scores(torch.tensor([1.0, 3.0]), torch.tensor([0, 4]), 0.5).tolist()
    [0.0, 0.5]
    """
    if len(deviation) == 0:
        return deviation
    low, high = deviation.min(), deviation.max()
    scaled = (deviation - low) / (high - low).clamp(min=1e-6)
    return scaled - gamma * replays / replays.max().clamp(min=1)
