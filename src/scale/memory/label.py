"""Equally many samples of each class."""

from __future__ import annotations

import torch
from torch import Tensor

from scale.memory._balance import balanced
from scale.memory._policy import Candidates, Policy, PolicyKnowledge, register_policy


@register_policy("label")
class Label(Policy):
    """Keep equal shares of the classes seen so far, each a random part of its class.

    It needs labels, so it is a reference and not a method for unlabelled streams.
    """

    knows = PolicyKnowledge(labels=True)

    def __call__(self, candidates: Candidates, size: int, generator: torch.Generator) -> Tensor:
        assert candidates.labels is not None
        return balanced(candidates.labels, size, generator)
