"""What a memory policy is given, and where policies are registered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from scale._registry import Registry


@dataclass(frozen=True)
class Candidates:
    """The samples a policy chooses from: those in memory, then the new batch."""

    stored: int
    """How many of them are in memory already; they come first."""
    arrivals: Tensor
    """Position of each in the stream, (stored + n,)."""
    features: Tensor | None
    """Encoder features of each, (stored + n, d), when the policy asks for them."""
    labels: Tensor | None = None
    """Class of each, (stored + n,), when the policy is one that may know."""
    clusters: int = 1
    """Number of clusters that the user asked for."""

    def __len__(self) -> int:
        return len(self.arrivals)


@dataclass(frozen=True)
class PolicyKnowledge:
    """What a policy is given beyond the images."""

    features: bool = False
    """Encoder features of all candidates: a forward pass of each."""
    labels: bool = False
    """Classes of the images. Only a reference that shows what knowing them would bring."""
    num_classes: bool = False
    """How many clusters to look for."""


class Policy(ABC):
    """Chooses which candidates stay in memory."""

    knows: ClassVar[PolicyKnowledge] = PolicyKnowledge()

    @abstractmethod
    def __call__(self, candidates: Candidates, size: int, generator: torch.Generator) -> Tensor:
        """Return the indices of `size` different candidates; called only if there are more."""


POLICIES: Registry[type[Policy]] = Registry("memory policy")
register_policy = POLICIES.register
