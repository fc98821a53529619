"""MinRed: experience replay from a memory without redundant images."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import torch
import tyro
from torch import Tensor
from torch.nn import functional as F

from scale.losses import contrastive_loss, dot_products, stream_and_memory_twins
from scale.memory import POLICIES
from scale.methods.core.checks import Fraction
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.facts import Costs
from scale.methods.core.registry import register_method
from scale.methods.core.replay import Replay

FEATURES = "features"  # column of the memory


@register_method("minred")
@dataclass(kw_only=True)
class MinRed(Replay, ContrastiveLearner):
    """Experience replay; when memory is full, drop the image most similar to another.

    Similarity is the cosine of running means of features. After each batch, the mean of an image in
    memory is half its old mean and half its current unit-length feature. Other memory policies that
    need features get the same means.

    References
    ----------
    Purushwalkam, Morgado and Gupta (2022), The Challenges of Continuous Self-Supervised Learning,
    ECCV.
    """

    memory_policy: Annotated[str, tyro.conf.arg(metavar=POLICIES.choices())] = "minred"
    """Which images stay in memory; `scale methods` describes the policies."""
    feature_momentum: Fraction = 0.5
    """Weight of the old running mean; higher values change it more slowly."""

    def costs(self) -> Costs:
        costs = super().costs()
        if POLICIES[self.memory_policy].knows.features:
            costs = replace(costs, memory=f"{costs.memory} with their features")
        return costs

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        for stream_views in self.updates(batch):
            self.step(self.losses(stream_views, self.replay_views()))
        if self.memory_.size == 0 or not self.memory_.policy.knows.features:
            self.remember(batch, labels)
            return
        stored = len(self.memory_)
        means = F.normalize(self.memory_features(batch).cpu(), dim=1)  # (stored + n, d)
        if stored:
            means[:stored].lerp_(self.memory_.columns[FEATURES], self.feature_momentum)
            self.memory_.columns[FEATURES] = means[:stored]
        self.remember(batch, labels, features=means, columns={FEATURES: means[stored:]})

    def losses(self, stream_views: Tensor, memory_views: Tensor) -> dict[str, Tensor]:
        """Return the loss of an update."""
        z = self.project(torch.cat([stream_views, memory_views]))  # (2(m+n), 128)
        positives = stream_and_memory_twins(len(stream_views) // 2, len(memory_views) // 2)
        return {"loss": contrastive_loss(dot_products(z), positives.to(z.device), self.tau)}
