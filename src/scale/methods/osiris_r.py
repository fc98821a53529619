"""Osiris-R: present, past, and the two against each other, with two projectors."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from scale.losses import contrastive_loss, cross_contrastive_loss, dot_products, twin_positives
from scale.methods._checks import check_numbers
from scale.methods._registry import register_method
from scale.methods._replay import ReplayLearner
from scale.methods._state import Part
from scale.models import ImageShape, default_rng


@register_method("osiris-r")
@dataclass(kw_only=True)
class OsirisR(ReplayLearner):
    """NT-Xent inside the stream on one projector; inside memory and across both on another.

    The second projector starts from the first one's weights when memory first holds images, as in
    the released code after its first task. One pass of the encoder takes stream and replayed views.

    Attributes
    ----------
    past_projector_
        The second projector.

    References
    ----------
    Zhang, Charlin, Zemel and Ren (2024), Integrating Present and Past in Unsupervised Continual
    Learning, CoLLAs.
    """

    lam: float = 0.5
    """Weight of the sum of the two losses with memory (released code: 0.5)."""

    def _start(self, image_shape: ImageShape) -> None:
        check_numbers(self, "lam", least=0)
        super()._start(image_shape)

    def _build_heads(self, weights: torch.Generator) -> None:
        self.past_projector_ = deepcopy(self.projector_)

    def _losses(self, stream_views: Tensor, memory_views: Tensor, step: int) -> dict[str, Tensor]:
        n, m = len(stream_views) // 2, len(memory_views) // 2
        with default_rng(self._view_rng):  # dropout in a module of the user's own
            h = self.encoder_(torch.cat([stream_views, memory_views]))  # (2(m+n), d)
        self.features_ = h.detach()
        present = self._nt_xent(dot_products(self.projector_(h[: 2 * n])))
        if m == 0:
            return {"loss": present, "present": present}
        dots = dot_products(self.past_projector_(h))  # (2(m+n), 2(m+n))
        cross = cross_contrastive_loss(dots, n, self.tau)
        past = self._nt_xent(dots[2 * n :, 2 * n :])
        loss = present + self.lam * (cross + past)
        return {"loss": loss, "present": present, "cross": cross, "past": past}

    def _nt_xent(self, dots: Tensor) -> Tensor:
        views = len(dots)
        return contrastive_loss(
            dots, twin_positives(views // 2, views, device=dots.device), self.tau
        )

    def _after_batch(self, batch: Tensor, labels: Tensor | None) -> None:
        if self.memory_.seen == 0:
            self.past_projector_.load_state_dict(self.projector_.state_dict())
        super()._after_batch(batch, labels)

    def _trained(self) -> list[nn.Parameter]:
        return [*super()._trained(), *self.past_projector_.parameters()]

    def _parts(self) -> dict[str, Part]:
        return {**super()._parts(), "past_projector": self.past_projector_}
