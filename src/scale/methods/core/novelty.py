"""Novelty: which scores are unusually high beside the recent ones."""

from __future__ import annotations

import torch
from torch import Tensor

from scale.methods.core.ring import Ring


class Novelty(Ring):
    """The last scores of a stream, a limit from them, and a wait between two events.

    Parameters
    ----------
    window
        Number of scores to keep.
    least
        Scores needed before anything is new.
    wait
        Time that has to pass after the start and after each event; `pass_time` counts it.

    Attributes
    ----------
    waited
        Time since the start or the last event.

    Examples
    --------
    >>> novelty = Novelty(window=100, least=3, wait=0)
    >>> novelty.push(torch.tensor([1.0, 2.0, 3.0]))
    >>> novelty.above_mean(2.0)
    4.0
    """

    waited: Tensor

    def __init__(self, window: int, least: int = 2, wait: int = 0) -> None:
        super().__init__(window)
        self.least, self.wait = min(least, window), wait
        self.register_buffer("waited", torch.tensor(0))

    def above_mean(self, deviations: float) -> float:
        """Return mean + `deviations` x standard deviation of recent scores; inf if too few."""
        scores = self.latest()
        if len(scores) < max(2, self.least):
            return torch.inf
        return float(scores.mean() + deviations * scores.std())

    def quantile(self, q: float) -> float:
        """Return a quantile of recent scores; inf if there are too few."""
        scores = self.latest()
        return torch.inf if len(scores) < max(1, self.least) else float(scores.quantile(q))

    def pass_time(self, amount: int) -> None:
        """Count time, in updates or batches."""
        self.waited += amount

    def ready(self) -> bool:
        """Return whether enough time has passed."""
        return int(self.waited) >= self.wait

    def start_again(self) -> None:
        """Begin the wait after an event."""
        self.waited.zero_()
