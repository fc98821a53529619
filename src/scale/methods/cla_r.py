"""CLA-R: replayed images keep the projections that memory stores with them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from scale.losses import alignment_loss, contrastive_loss, dot_products, stream_and_memory_twins
from scale.methods.core.alignment import make_aligner, mean_of_twins
from scale.methods.core.checks import Weight
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.facts import Costs
from scale.methods.core.registry import register_method
from scale.methods.core.replay import Replay
from scale.models import ImageShape

PROJECTIONS = "projections"  # column of the memory


@register_method("cla-r")
@dataclass(kw_only=True)
class CLAR(Replay, ContrastiveLearner):
    """Experience replay, with replayed projections aligned to stored ones (CLA's form R).

    The memory keeps a projection with each image, the mean over its two views. The last update of
    its batch writes it, and each update that replays the image renews it. The head ``aligner`` maps
    projections of replayed views to it.

    References
    ----------
    Cignoni, Cossu, Gomez-Villa, van de Weijer and Carta (2025), CLA: Latent Alignment for Online
    Continual Self-Supervised Learning, CoLLAs.
    """

    omega: Weight = 1.0
    """Weight of the alignment with stored projections (authors: 0.1 to 2)."""

    def costs(self) -> Costs:
        costs = super().costs()
        return replace(costs, memory=f"{costs.memory} with their projections")

    def setup(self, image_shape: ImageShape) -> None:
        super().setup(image_shape)
        self._z = torch.empty(0)  # projections of the last update, one per image

    def heads(self) -> dict[str, nn.Module]:
        return {"aligner": make_aligner(self.projection_dim)}

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        n = len(batch)
        for stream_views in self.updates(batch):
            self.step(self.losses(stream_views, self.replay_views()))
            if len(self.replayed_):
                self.memory_.columns[PROJECTIONS][self.replayed_] = self._z[n:].cpu()
        self.remember(batch, labels, columns={PROJECTIONS: self._z[:n]})

    def losses(self, stream_views: Tensor, memory_views: Tensor) -> dict[str, Tensor]:
        """Return the losses of an update; memory views are those of the images `replayed_`."""
        n, m = len(stream_views) // 2, len(memory_views) // 2
        z = self.project(torch.cat([stream_views, memory_views]))  # (2(m+n), 128)
        positives = stream_and_memory_twins(n, m).to(z.device)
        contrastive = contrastive_loss(dot_products(z), positives, self.tau)
        stream_z, replayed_z = z.detach()[: 2 * n], z.detach()[2 * n :]
        self._z = torch.cat([mean_of_twins(stream_z), mean_of_twins(replayed_z)])  # (n + m, 128)
        if m == 0 or self.omega == 0:
            return {"loss": contrastive, "contrastive": contrastive}
        aligned = self.heads_["aligner"](z[2 * n :])  # (2m, 128)
        stored = self.memory_.columns[PROJECTIONS][self.replayed_].to(z.device)  # (m, 128)
        alignment = alignment_loss(aligned, stored.repeat(2, 1))
        loss = contrastive + self.omega * alignment
        return {"loss": loss, "contrastive": contrastive, "alignment": alignment}
