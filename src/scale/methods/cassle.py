"""CaSSLe: a predictor maps current projections to those of the previous model."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from scale.losses import (
    contrastive_distillation,
    contrastive_loss,
    dot_products,
    twin_positives,
)
from scale.methods.core.checks import Count, Positive, Weight, check_memory
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.past import Past
from scale.methods.core.registry import register_method
from scale.methods.core.state import Part
from scale.models import ImageShape


@register_method("cassle")
@dataclass(kw_only=True)
class CaSSLe(ContrastiveLearner):
    """SimCLR, and a predictor from current projections to those before this batch; no memory.

    The authors freeze the model at task boundaries. Streams have none, so here each batch freezes
    it. The first batch has no distillation. The predictor gets unit-length z, and the frozen model
    is in evaluation mode; otherwise the loss is CaSSLe's.

    The head ``predictor`` is linear - BatchNorm - ReLU - linear.

    References
    ----------
    Fini, Turrisi da Costa, Alameda-Pineda, Ricci, Alahari and Mairal (2022), Self-Supervised
    Models are Continual Learners, CVPR.
    """

    kappa: Positive = 0.2
    """Temperature of the distillation."""
    lam: Weight = 1.0
    """Weight of the distillation; 0 gives SimCLR. Raise it if old classes are forgotten."""
    predictor_dim: Count = 2048
    """Hidden units of the predictor."""

    def setup(self, image_shape: ImageShape) -> None:
        super().setup(image_shape)
        self.past_ = Past(self.encoder_, self.projector_)
        self._has_past = torch.tensor(False)

    def heads(self) -> dict[str, nn.Module]:
        check_memory(self, "predictor_dim", 16 * self.projection_dim * self.predictor_dim)
        predictor = nn.Sequential(
            nn.Linear(self.projection_dim, self.predictor_dim),
            nn.BatchNorm1d(self.predictor_dim),
            nn.ReLU(),
            nn.Linear(self.predictor_dim, self.projection_dim),
        )
        return {"predictor": predictor}

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        self.past_.freeze()
        for stream_views in self.updates(batch):
            self.step(self.losses(stream_views))
        self._has_past.fill_(True)

    def losses(self, stream_views: Tensor) -> dict[str, Tensor]:
        """Return the losses of an update."""
        z = self.project(stream_views)  # (2n, 128)
        positives = twin_positives(len(z) // 2, len(z), device=z.device)
        contrastive = contrastive_loss(dot_products(z), positives, self.tau)
        if not self._has_past or self.lam == 0:
            return {"loss": contrastive, "contrastive": contrastive}
        past = self.past_.project(stream_views, self.no_views(), reuse=self.views == "once")
        predicted = self.heads_["predictor"](z)  # (2n, 128)
        distillation = contrastive_distillation(predicted, past, self.kappa)
        loss = contrastive + self.lam * distillation
        return {"loss": loss, "contrastive": contrastive, "distillation": distillation}

    def parts(self) -> dict[str, Part]:
        return {**super().parts(), "has_past": self._has_past}
