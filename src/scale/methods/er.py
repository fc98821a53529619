"""Experience replay: SimCLR on stream and replayed images together."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from scale.losses import contrastive_loss, dot_products, stream_and_memory_twins
from scale.methods._registry import register_method
from scale.methods._replay import ReplayLearner


@register_method("er")
@dataclass(kw_only=True)
class ER(ReplayLearner):
    """NT-Xent over stream and replayed images, every view an anchor with its twin; reservoir."""

    def _losses(self, stream_views: Tensor, memory_views: Tensor, step: int) -> dict[str, Tensor]:
        z = self._forward(torch.cat([stream_views, memory_views]))  # (2(m+n), 128)
        positives = stream_and_memory_twins(len(stream_views) // 2, len(memory_views) // 2)
        return {"loss": contrastive_loss(dot_products(z), positives.to(z.device), self.tau)}
