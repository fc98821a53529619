"""The interface of memory policies, and their registry."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import torch
from torch import Tensor

from scale._registry import Registry


@dataclass(frozen=True)
class Candidates:
    """The samples a policy chooses from: those in memory, then the new batch."""

    stored: int
    """Number of samples in memory; they come first."""
    arrivals: Tensor
    """Position of each in the stream, (stored + n,)."""
    features: Tensor | None
    """Encoder features of each, (stored + n, d), if the policy's `knows` has them."""
    labels: Tensor | None = None
    """Class of each, (stored + n,), if the policy's `knows` has them."""
    clusters: int = 1
    """Number of clusters, the parameter `memory_clusters`."""
    columns: Mapping[str, Tensor] = field(default_factory=dict)
    """Other values kept with each image, by name, (stored + n, ...) each."""

    def __len__(self) -> int:
        return len(self.arrivals)


@dataclass(frozen=True)
class PolicyKnowledge:
    """What a policy is given beyond the images."""

    features: bool = False
    """Encoder features of all candidates, at the cost of a forward pass of each."""
    labels: bool = False
    """Labels of the images. Such a policy is a reference, not for unlabelled streams."""
    num_classes: bool = False
    """Number of classes, as the number of clusters."""


class Policy(ABC):
    """Chooses the candidates to keep in memory."""

    knows: ClassVar[PolicyKnowledge] = PolicyKnowledge()

    @abstractmethod
    def __call__(self, candidates: Candidates, size: int, generator: torch.Generator) -> Tensor:
        """Return the indices of `size` different candidates; called only if there are more."""


POLICIES: Registry[type[Policy]] = Registry("memory policy")
register_policy = POLICIES.register
