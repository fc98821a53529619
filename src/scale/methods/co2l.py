"""Co2L without labels: contrast on the stream, and distillation of relations between views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
import tyro
from torch import Tensor

from scale.losses import contrastive_loss, dot_products, relation_distillation, twin_positives
from scale.memory import POLICIES
from scale.methods.core.checks import Positive, Weight
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.past import Past
from scale.methods.core.registry import register_method
from scale.methods.core.replay import Replay
from scale.models import ImageShape


@register_method("co2l")
@dataclass(kw_only=True)
class Co2L(Replay, ContrastiveLearner):
    """NT-Xent and instance-relation distillation from the model before this batch; random memory.

    Replayed views are negatives of the contrast, as in SCALE's paper, and take part in the
    distillation.

    References
    ----------
    Cha, Lee and Shin (2021), Co2L: Contrastive Continual Learning, ICCV.
    """

    memory_policy: Annotated[str, tyro.conf.arg(metavar=POLICIES.choices())] = "random"
    """Which images stay in memory; `scale methods` describes the policies."""
    kappa: Positive = 0.2
    """Temperature of the current relations."""
    kappa_past: Positive = 0.01
    """Temperature of the past relations; below kappa, it makes them sharper."""
    lam: Weight = 1.0
    """Weight of the distillation."""

    def setup(self, image_shape: ImageShape) -> None:
        super().setup(image_shape)
        self.past_ = Past(self.encoder_, self.projector_)

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        self.past_.freeze()
        for stream_views in self.updates(batch):
            self.step(self.losses(stream_views, self.replay_views()))
        self.remember(batch, labels)

    def losses(self, stream_views: Tensor, memory_views: Tensor) -> dict[str, Tensor]:
        """Return the losses of an update."""
        z = self.project(torch.cat([stream_views, memory_views]))  # (2(m+n), 128)
        dots = dot_products(z)  # (2(m+n), 2(m+n)), for both losses
        positives = twin_positives(len(stream_views) // 2, len(z), device=z.device)
        contrastive = contrastive_loss(dots, positives, self.tau)
        z_past = self.past_.project(stream_views, memory_views, reuse=self.views == "once")
        past = dot_products(z_past)
        distillation = relation_distillation(dots, past, self.kappa, self.kappa_past)
        loss = contrastive + self.lam * distillation
        return {"loss": loss, "contrastive": contrastive, "distillation": distillation}
