"""SimCLR on the stream alone."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from scale.losses import contrastive_loss, dot_products, twin_positives
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.registry import register_method


@register_method("simclr")
@dataclass(kw_only=True)
class SimCLR(ContrastiveLearner):
    """NT-Xent between the two views of each stream image; no memory, nothing against forgetting.

    References
    ----------
    Chen, Kornblith, Norouzi and Hinton (2020), A Simple Framework for Contrastive Learning of
    Visual Representations, ICML.
    """

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        for stream_views in self.updates(batch):
            self.step(self.losses(stream_views))

    def losses(self, stream_views: Tensor) -> dict[str, Tensor]:
        """Return the loss of an update."""
        z = self.project(stream_views)  # (2n, 128)
        positives = twin_positives(len(z) // 2, len(z), device=z.device)
        return {"loss": contrastive_loss(dot_products(z), positives, self.tau)}
