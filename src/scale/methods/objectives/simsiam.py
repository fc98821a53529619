"""SimSiam: a predictor finds the projection of the other view, which gets no gradient."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor, nn

from scale.losses import twin_prediction
from scale.methods.core.alignment import make_aligner
from scale.methods.objectives.objective import OBJECTIVES, Losses, Objective, by_view

if TYPE_CHECKING:
    from scale.methods.er import ER


@OBJECTIVES.register("simsiam")
class SimSiam(Objective):
    """Prediction of the twin's projection by the same network (Chen and He, 2021)."""

    @staticmethod
    def heads(dim: int) -> dict[str, nn.Module]:
        return {"predictor": make_aligner(dim)}

    def losses(self, learner: ER, views: Tensor, n: int, m: int) -> Losses:
        views = by_view(views, n, m)
        z = learner.project(views)  # (2(m+n), 128)
        predicted = learner.heads_["predictor"](z)
        return {"loss": twin_prediction(predicted, self.targets(learner, views, z))}

    def targets(self, learner: ER, views: Tensor, z: Tensor) -> Tensor:
        """Return the projections that are predicted, (2(m+n), 128)."""
        return z
