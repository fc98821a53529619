"""LUMP: SimCLR on stream images mixed with images of the past."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from scale.losses import contrastive_loss, dot_products, twin_positives
from scale.methods.core.checks import Weight
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.registry import register_method
from scale.methods.core.replay import Replay


@register_method("lump")
@dataclass(kw_only=True)
class LUMP(Replay, ContrastiveLearner):
    """NT-Xent between views that are part stream and part memory; reservoir.

    Each stream image gets a partner from memory. Their views are mixed, first with first and second
    with second: lambda x stream + (1 - lambda) x memory, one lambda for the whole update. If memory
    has too few partners, they repeat with new views. LUMP's code stores the second view of an
    image; here both are drawn anew.

    References
    ----------
    Madaan, Yoon, Li, Liu and Hwang (2022), Representational Continuity for Unsupervised Continual
    Learning, ICLR.
    """

    alpha: Weight = 0.4
    """Lambda is drawn from Beta(alpha, alpha); 0 gives SimCLR, without mixing."""

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        for stream_views in self.updates(batch):
            self.step(self.losses(stream_views, self.partner_views(len(batch))))
        self.remember(batch, labels)

    def partner_views(self, n: int) -> Tensor:
        """Return views of `n` partners from memory, (2n, c, h, w); none if it is empty."""
        if self.alpha == 0:
            return self.no_views()
        drawn = self.memory_.draw(min(self.memory_batch, n))
        if len(drawn) == 0:
            return self.no_views()
        self.replayed_ = drawn[torch.arange(n) % len(drawn)]  # (n,)
        return self.draw_views(self.memory_.images[self.replayed_])

    def losses(self, stream_views: Tensor, memory_views: Tensor) -> dict[str, Tensor]:
        """Return the loss of an update, and its lambda."""
        lam = 1.0
        if len(memory_views):
            lam = self._draw_lambda()
            stream_views = lam * stream_views + (1 - lam) * memory_views
        z = self.project(stream_views)  # (2n, 128)
        positives = twin_positives(len(z) // 2, len(z), device=z.device)
        loss = contrastive_loss(dot_products(z), positives, self.tau)
        return {"loss": loss, "lam": torch.tensor(lam)}

    def _draw_lambda(self) -> float:
        # torch's Beta takes no generator, and NumPy's would not be part of the learner's state.
        seed = int(torch.randint(2**63 - 1, (), generator=self._memory_rng))
        return float(np.random.default_rng(seed).beta(self.alpha, self.alpha))
