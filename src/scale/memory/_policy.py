"""What a memory policy is given, and where policies are registered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from scale._registry import Registry


@dataclass(frozen=True)
class Candidates:
    """The samples a policy chooses from: those in memory, then the batch that just came."""

    stored: int
    """How many of them are in memory already; they come first."""
    arrivals: Tensor
    """Position of each in the stream, (stored + n,)."""
    features: Tensor | None
    """Encoder features of each, (stored + n, d), when the policy asks for them."""

    def __len__(self) -> int:
        return len(self.arrivals)


class Policy(Protocol):
    """Chooses which candidates stay in memory."""

    needs_features: bool

    def __call__(self, candidates: Candidates, size: int, generator: torch.Generator) -> Tensor:
        """Return the indices of at most `size` candidates, called only when there are more."""
        ...


POLICIES: Registry[Callable[[], Policy]] = Registry("memory policy")
register_policy = POLICIES.register
