"""NT-Xent: each view finds its twin among all views (SimCLR)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from scale.losses import contrastive_loss, dot_products, stream_and_memory_twins
from scale.methods.objectives.objective import OBJECTIVES, Losses, Objective

if TYPE_CHECKING:
    from scale.methods.er import ER


@OBJECTIVES.register("ntxent")
class NTXent(Objective):
    """Contrast with all other views of the update, by the temperature `tau`."""

    def losses(self, learner: ER, views: Tensor, n: int, m: int) -> Losses:
        z = learner.project(views)  # (2(m+n), 128)
        positives = stream_and_memory_twins(n, m).to(z.device)
        return {"loss": contrastive_loss(dot_products(z), positives, learner.tau)}
