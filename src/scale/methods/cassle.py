"""CaSSLe: what the previous model saw in a view stays predictable from today's projection."""

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
from scale.methods._checks import check_numbers
from scale.methods._past import WithPast
from scale.methods._registry import register_method
from scale.methods._state import Part
from scale.models import ImageShape, default_rng


@register_method("cassle")
@dataclass(kw_only=True)
class CaSSLe(WithPast):
    """SimCLR, and a predictor from today's projections to those before this batch; no memory.

    CaSSLe freezes the model at task boundaries. Without boundaries it is frozen before each stream
    batch, and in the first one, when nothing was learned before, there is no distillation. The
    predictor gets unit-length z, and the frozen model is in eval mode; else the loss is CaSSLe's.

    Attributes
    ----------
    predictor_
        Linear - BatchNorm - ReLU - linear; it learns with the rest and is never frozen.

    References
    ----------
    Fini, Turrisi da Costa, Alameda-Pineda, Ricci, Alahari and Mairal (2022), Self-Supervised
    Models are Continual Learners, CVPR.
    """

    kappa: float = 0.2
    """Temperature of the distillation."""
    lam: float = 1.0
    """Weight of the distillation; 0 is SimCLR."""
    predictor_dim: int = 2048
    """Hidden units of the predictor."""

    def _start(self, image_shape: ImageShape) -> None:
        check_numbers(self, "kappa", above=0)
        check_numbers(self, "lam", least=0)
        check_numbers(self, "predictor_dim", least=1, whole=True)
        super()._start(image_shape)
        self._has_past = torch.tensor(False)

    def _build_heads(self, weights: torch.Generator) -> None:
        with default_rng(weights):
            predictor = nn.Sequential(
                nn.Linear(self.projection_dim, self.predictor_dim),
                nn.BatchNorm1d(self.predictor_dim),
                nn.ReLU(),
                nn.Linear(self.predictor_dim, self.projection_dim),
            )
        self.predictor_ = predictor.to(self.device).train()

    def _losses(self, stream_views: Tensor, memory_views: Tensor, step: int) -> dict[str, Tensor]:
        z = self._forward(stream_views)  # (2n, 128)
        positives = twin_positives(len(z) // 2, len(z), device=z.device)
        contrastive = contrastive_loss(dot_products(z), positives, self.tau)
        losses = {"loss": contrastive, "contrastive": contrastive}
        if self._has_past and self.lam > 0:
            past = self._past_z(stream_views, memory_views)  # (2n, 128)
            distillation = contrastive_distillation(self.predictor_(z), past, self.kappa)
            losses["loss"] = contrastive + self.lam * distillation
            losses["distillation"] = distillation
        return losses

    def _after_batch(self, batch: Tensor, labels: Tensor | None) -> None:
        super()._after_batch(batch, labels)
        self._has_past.fill_(True)

    def _trained(self) -> list[nn.Parameter]:
        return [*super()._trained(), *self.predictor_.parameters()]

    def _parts(self) -> dict[str, Part]:
        return {**super()._parts(), "predictor": self.predictor_, "has_past": self._has_past}
