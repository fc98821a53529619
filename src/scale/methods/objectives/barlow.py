"""Barlow Twins: a dimension is correlated with itself in the other view, and with no other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from scale.losses import barlow_loss
from scale.methods.objectives.objective import (
    OBJECTIVES,
    Losses,
    Objective,
    by_view,
    project_freely,
)

if TYPE_CHECKING:
    from scale.methods.er import ER

OTHERS = 0.005  # the authors' weight of correlations of different dimensions


@OBJECTIVES.register("barlow")
class Barlow(Objective):
    """Correlation of dimensions between views (Zbontar et al., 2021), divided by their number."""

    def losses(self, learner: ER, views: Tensor, n: int, m: int) -> Losses:
        first, second = project_freely(learner, by_view(views, n, m))
        return {"loss": barlow_loss(first, second, OTHERS) / first.shape[1]}
