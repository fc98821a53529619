"""VICReg: alike twins, dimensions that vary, and no two that vary together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

from scale.losses import vicreg_terms
from scale.methods.objectives.objective import (
    OBJECTIVES,
    Losses,
    Objective,
    by_view,
    project_freely,
)

if TYPE_CHECKING:
    from scale.methods.er import ER

COVARIANCE = 1 / 25  # the authors' weights are 25, 25 and 1; here the first two are 1


@OBJECTIVES.register("vicreg")
class VICReg(Objective):
    """Variance, invariance and covariance of projections (Bardes et al., 2022)."""

    def losses(self, learner: ER, views: Tensor, n: int, m: int) -> Losses:
        terms = vicreg_terms(*project_freely(learner, by_view(views, n, m)))
        loss = terms.invariance + terms.variance + COVARIANCE * terms.covariance
        return {"loss": loss, **terms._asdict()}
