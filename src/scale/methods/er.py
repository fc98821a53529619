"""Experience replay: SimCLR on stream and replayed images together."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from scale.losses import contrastive_loss, dot_products, stream_and_memory_twins
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.registry import register_method
from scale.methods.core.replay import Replay


@register_method("er")
@dataclass(kw_only=True)
class ER(Replay, ContrastiveLearner):
    """NT-Xent over stream and replayed images, every view an anchor with its twin; reservoir."""

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        for stream_views in self.updates(batch):
            self.step(self.losses(stream_views, self.replay_views()))
        self.remember(batch, labels)

    def losses(self, stream_views: Tensor, memory_views: Tensor) -> dict[str, Tensor]:
        """Return the loss of an update."""
        z = self.project(torch.cat([stream_views, memory_views]))  # (2(m+n), 128)
        positives = stream_and_memory_twins(len(stream_views) // 2, len(memory_views) // 2)
        return {"loss": contrastive_loss(dot_products(z), positives.to(z.device), self.tau)}
