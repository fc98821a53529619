"""Co2L without labels: contrast on the stream, relations between images kept as they were."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from scale.losses import contrastive_loss, dot_products, relation_distillation, twin_positives
from scale.methods._checks import check_numbers
from scale.methods._past import PastLearner
from scale.methods._registry import register_method
from scale.models import ImageShape


@register_method("co2l")
@dataclass(kw_only=True)
class Co2L(PastLearner):
    """NT-Xent and instance-relation distillation from the model before this batch; random memory.

    Replayed views are negatives of the contrast, as in SCALE's paper, and take part in the
    distillation.

    References
    ----------
    Cha, Lee and Shin (2021), Co2L: Contrastive Continual Learning, ICCV.
    """

    memory_policy: str = "random"
    """Which images stay in memory: psa, random, reservoir, fifo, kmeans, minred, label."""
    kappa: float = 0.2
    """Temperature of the current relations."""
    kappa_past: float = 0.01
    """Temperature of the past relations: sharper, as in Co2L."""
    lam: float = 1.0
    """Weight of the distillation."""

    def _start(self, image_shape: ImageShape) -> None:
        check_numbers(self, "kappa", "kappa_past", above=0)
        check_numbers(self, "lam", least=0)
        super()._start(image_shape)

    def _losses(self, stream_views: Tensor, memory_views: Tensor, step: int) -> dict[str, Tensor]:
        z = self._forward(torch.cat([stream_views, memory_views]))  # (2(m+n), 128)
        dots = dot_products(z)
        positives = twin_positives(len(stream_views) // 2, len(z), device=z.device)
        contrastive = contrastive_loss(dots, positives, self.tau)
        past = dot_products(self._past_z(stream_views, memory_views))
        distillation = relation_distillation(dots, past, self.kappa, self.kappa_past)
        return {
            "loss": contrastive + self.lam * distillation,
            "contrastive": contrastive,
            "distillation": distillation,
        }
