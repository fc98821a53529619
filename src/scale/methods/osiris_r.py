"""Osiris-R: contrast within the stream, within memory and between both, with two projectors."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from scale.losses import contrastive_loss, cross_contrastive_loss, dot_products, twin_positives
from scale.methods.core.checks import Weight
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.registry import register_method
from scale.methods.core.replay import Replay


@register_method("osiris-r")
@dataclass(kw_only=True)
class OsirisR(Replay, ContrastiveLearner):
    """NT-Xent inside the stream on one projector; inside memory and across both on another.

    The second projector is the head ``past_projector``. After the first batch it gets the first
    one's weights, as in the released code after the first task. Stream and replayed views share one
    pass of the encoder.

    References
    ----------
    Zhang, Charlin, Zemel and Ren (2024), Integrating Present and Past in Unsupervised Continual
    Learning, CoLLAs.
    """

    lam: Weight = 0.5
    """Weight of the sum of the two losses with memory (released code: 0.5)."""

    def heads(self) -> dict[str, nn.Module]:
        return {"past_projector": deepcopy(self.projector_)}

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        for stream_views in self.updates(batch):
            self.step(self.losses(stream_views, self.replay_views()))
        if self.memory_.seen == 0:
            self.heads_["past_projector"].load_state_dict(self.projector_.state_dict())
        self.remember(batch, labels)

    def losses(self, stream_views: Tensor, memory_views: Tensor) -> dict[str, Tensor]:
        """Return the losses of an update."""
        n, m = len(stream_views) // 2, len(memory_views) // 2
        h = self.encode_views(torch.cat([stream_views, memory_views]))  # (2(m+n), d)
        self.features_ = h.detach()
        present = self._nt_xent(dot_products(self.projector_(h[: 2 * n])))
        if m == 0:
            return {"loss": present, "present": present}
        dots = dot_products(self.heads_["past_projector"](h))  # (2(m+n), 2(m+n))
        cross = cross_contrastive_loss(dots, n, self.tau)
        past = self._nt_xent(dots[2 * n :, 2 * n :])
        loss = present + self.lam * (cross + past)
        return {"loss": loss, "present": present, "cross": cross, "past": past}

    def _nt_xent(self, dots: Tensor) -> Tensor:
        views = len(dots)
        return contrastive_loss(
            dots, twin_positives(views // 2, views, device=dots.device), self.tau
        )
