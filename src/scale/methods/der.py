"""Dark experience replay: replayed images should keep their stored features."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor
from torch.nn import functional as F

from scale.losses import contrastive_loss, dot_products, twin_positives
from scale.methods.core.checks import Weight
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.facts import Costs
from scale.methods.core.registry import register_method
from scale.methods.core.replay import Replay

OUTPUTS = "outputs"  # column of the memory


@register_method("der")
@dataclass(kw_only=True)
class DER(Replay, ContrastiveLearner):
    """SimCLR on the stream, and a penalty on changed features of replayed images; reservoir.

    As in DER's code, the memory stores the encoder's outputs for one random view of each image, in
    training mode: its first view in the last update of its batch. The penalty is the mean squared
    difference to the outputs for two new views, in a separate pass of the encoder.

    References
    ----------
    Buzzega, Boschini, Porrello, Abati and Calderara (2020), Dark Experience for General Continual
    Learning: a Strong, Simple Baseline, NeurIPS. Without labels: Madaan, Yoon, Li, Liu and Hwang
    (2022), Representational Continuity for Unsupervised Continual Learning, ICLR.
    """

    alpha: Weight = 0.4
    """Weight of the penalty. 0 gives SimCLR, without replay."""

    def costs(self) -> Costs:
        costs = super().costs()
        started = self.image_shape_ is not None
        features = f"{self.output_dim_} features each" if started else "their features"
        return replace(costs, memory=f"{costs.memory} + {features}")

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        for stream_views in self.updates(batch):
            memory_views = self.replay_views() if self.alpha > 0 else self.no_views()
            self.step(self.losses(stream_views, memory_views))
        assert self.features_ is not None  # of the last update's stream views
        self.remember(batch, labels, columns={OUTPUTS: self.features_[: len(batch)]})

    def losses(self, stream_views: Tensor, memory_views: Tensor) -> dict[str, Tensor]:
        """Return the losses of an update; memory views are those of the images `replayed_`."""
        z = self.project(stream_views)  # (2n, 128)
        positives = twin_positives(len(z) // 2, len(z), device=z.device)
        contrastive = contrastive_loss(dot_products(z), positives, self.tau)
        if len(memory_views) == 0:
            return {"loss": contrastive, "contrastive": contrastive}
        stored = self.memory_.columns[OUTPUTS][self.replayed_].to(self.device)  # (m, d)
        outputs = self.encode_views(memory_views)  # (2m, d)
        penalty = F.mse_loss(outputs, stored.repeat(2, 1))
        loss = contrastive + self.alpha * penalty
        return {"loss": loss, "contrastive": contrastive, "penalty": penalty}
