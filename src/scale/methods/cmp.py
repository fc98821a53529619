"""CMP: many views of each image near to their mean, spread by the coding rate; no memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn

from scale._numbers import Range
from scale.losses import alignment_loss, total_coding_rate
from scale.methods.core.alignment import make_aligner
from scale.methods.core.checks import Positive, Weight
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.facts import Costs
from scale.methods.core.registry import register_method


@register_method("cmp")
@dataclass(kw_only=True)
class CMP(ContrastiveLearner):
    """Predict the mean projection of many views from each; a coding rate keeps images apart.

    The head ``predictor`` maps the projection of a view to the mean over all views of its image.
    The total coding rate of the projections of one view of each image is kept high. There is no
    memory, and nothing but the views acts against forgetting.

    Read in the authors' code: the SimSiam form, both losses, their weights 200 and 1, and eps 0.2.
    Its settings for CIFAR-100 are the preset ``cifar100``: 20 views and other weights, with
    batches of 10 images and one update each. Ours: 8 views, unit length, the projector, the views
    and the learning rate of the other methods here.

    References
    ----------
    Cignoni, Cossu, Gomez-Villa, van de Weijer and Carta (2025), Replay-free Online Continual
    Learning with Self-Supervised MultiPatches, ESANN.
    """

    presets: ClassVar = {"cifar100": {"patches": 20, "similarity": 100.0, "coding": 3.0}}

    tau: ClassVar[float] = 1.0  # type: ignore[misc]  # no parameter: there is no softmax
    patches: Annotated[int, Range(least=2)] = 8
    """Views of each image in an update. Time grows with them."""
    similarity: Weight = 200.0
    """Weight of the similarity of each view's prediction with the mean."""
    coding: Weight = 1.0
    """Weight of the total coding rate; without it projections collapse."""
    eps: Positive = 0.2
    """Squared precision of the coding rate."""

    def costs(self) -> Costs:
        costs = super().costs()
        return replace(costs, views=costs.views // 2 * self.patches)

    def heads(self) -> dict[str, nn.Module]:
        return {"predictor": make_aligner(self.projection_dim)}

    def draw_views(self, images: Tensor) -> Tensor:
        """Return `patches` random views of each image, normalised, first views first."""
        repeated = images.to(self.device).repeat(self.patches, 1, 1, 1)
        return self.normalise(self.augmentation_(repeated, self._view_rng))

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        for views in self.updates(batch):
            self.step(self.losses(views))

    def losses(self, views: Tensor) -> dict[str, Tensor]:
        """Return the losses of an update."""
        z = self.project(views)  # (patches * n, 128)
        of_view = z.view(self.patches, -1, z.shape[1])  # (patches, n, 128)
        mean = of_view.mean(0).detach().repeat(self.patches, 1)
        similarity = alignment_loss(self.heads_["predictor"](z), mean)
        coding = -torch.stack([total_coding_rate(one, self.eps) for one in of_view]).mean()
        loss = self.similarity * similarity + self.coding * coding
        return {"loss": loss, "similarity": similarity, "coding": coding}
