"""MinRed: experience replay from a memory without redundant images."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from scale.memory import POLICIES
from scale.methods._checks import check_numbers
from scale.methods._facts import Costs
from scale.methods._registry import register_method
from scale.methods.er import ER
from scale.models import ImageShape

FEATURES = "features"  # column of the memory


@register_method("minred")
@dataclass(kw_only=True)
class MinRed(ER):
    """Experience replay; of too many images the one whose nearest neighbour is closest leaves.

    Closeness is the cosine of running means. After each batch an image in memory gets half its old
    mean and half its feature of today, scaled to unit length before; a new image begins with its
    feature. Another memory policy that looks at features gets the same means; one that does not
    costs no features.

    References
    ----------
    Purushwalkam, Morgado and Gupta (2022), The Challenges of Continuous Self-Supervised Learning,
    ECCV.
    """

    memory_policy: str = "minred"
    """Which images stay in memory: psa, random, reservoir, fifo, kmeans, minred, label."""
    feature_momentum: float = 0.5
    """Part of the old running mean that stays."""

    def costs(self) -> Costs:
        costs = super().costs()
        if POLICIES[self.memory_policy].knows.features:
            costs = replace(costs, memory=f"{costs.memory} with their features")
        return costs

    def _start(self, image_shape: ImageShape) -> None:
        check_numbers(self, "feature_momentum", least=0, most=1)
        super()._start(image_shape)
        self._means = torch.empty(0)

    def _after_batch(self, batch: Tensor, labels: Tensor | None) -> None:
        stored = len(self.memory_)
        if self._keeps_means:
            self._means = F.normalize(super()._candidate_features(batch).cpu(), dim=1)
            if stored:
                old = self.memory_.columns[FEATURES]
                self._means[:stored].lerp_(old, self.feature_momentum)
                self.memory_.columns[FEATURES] = self._means[:stored]
        super()._after_batch(batch, labels)

    @property
    def _keeps_means(self) -> bool:
        return self.memory_.size > 0 and self.memory_.policy.knows.features

    def _candidate_features(self, batch: Tensor) -> Tensor:
        return self._means  # (stored + n, d)

    def _columns(self, batch: Tensor, labels: Tensor | None) -> dict[str, Tensor]:
        columns = super()._columns(batch, labels)
        if self._keeps_means:
            columns = {**columns, FEATURES: self._means[len(self.memory_) :]}
        return columns
