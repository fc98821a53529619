"""Dark experience replay: the features of past images stay what they were."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch import Tensor
from torch.nn import functional as F

from scale.methods._checks import check_numbers
from scale.methods._facts import Costs
from scale.methods._registry import register_method
from scale.methods._replay import ReplayLearner
from scale.methods.simclr import SimCLR
from scale.models import ImageShape, default_rng


@register_method("der")
@dataclass(kw_only=True)
class DER(ReplayLearner, SimCLR):
    """SimCLR on the stream, and the squared change of replayed images' features; reservoir.

    As in DER's code, what is stored with an image are the encoder's outputs for a random view of
    it, in training mode, when it came: those of its first view in the last update of its batch.
    They are compared with today's outputs for new random views, both of them, which pass the
    encoder apart from the stream. The penalty is the mean over views and features.

    References
    ----------
    Buzzega, Boschini, Porrello, Abati and Calderara (2020), Dark Experience for General Continual
    Learning: a Strong, Simple Baseline, NeurIPS. Without labels: Madaan, Yoon, Li, Liu and Hwang
    (2022), Representational Continuity for Unsupervised Continual Learning, ICLR.
    """

    alpha: float = 0.4
    """Weight of the penalty; 0 is SimCLR, and nothing is replayed."""

    def costs(self) -> Costs:
        costs = super().costs()
        started = self._image_shape is not None  # before, nobody knows how many features there are
        features = f"{self.output_dim_} features each" if started else "their features"
        return replace(costs, memory=f"{costs.memory} + {features}")

    def _start(self, image_shape: ImageShape) -> None:
        check_numbers(self, "alpha", least=0)
        super()._start(image_shape)

    def _memory_views(self, stream_views: Tensor) -> Tensor:
        if self.alpha == 0:
            return stream_views[:0]
        return super()._memory_views(stream_views)

    def _losses(self, stream_views: Tensor, memory_views: Tensor, step: int) -> dict[str, Tensor]:
        contrastive = super()._losses(stream_views, memory_views, step)["loss"]
        losses = {"loss": contrastive, "contrastive": contrastive}
        if len(memory_views):
            stored = self.memory_.columns["outputs"][self.replayed_].to(self.device)  # (m, d)
            with default_rng(self._view_rng):  # dropout in a module of the user's own
                outputs = self.encoder_(memory_views)  # (2m, d)
            losses["penalty"] = F.mse_loss(outputs, stored.repeat(2, 1))
            losses["loss"] = contrastive + self.alpha * losses["penalty"]
        return losses

    def _columns(self, batch: Tensor, labels: Tensor | None) -> dict[str, Tensor]:
        assert self.features_ is not None  # there was an update
        return {**super()._columns(batch, labels), "outputs": self.features_[: len(batch)]}
