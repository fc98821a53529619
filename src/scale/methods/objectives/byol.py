"""BYOL: SimSiam with the projections of a slow copy as targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor

from scale.methods.core.alignment import follow, make_teacher
from scale.methods.core.state import Part
from scale.methods.objectives.objective import OBJECTIVES
from scale.methods.objectives.simsiam import SimSiam
from scale.models import forward

if TYPE_CHECKING:
    from scale.methods.er import ER


@OBJECTIVES.register("byol")
class BYOL(SimSiam):
    """Prediction of the twin's projection by a slow copy of the network (Grill et al., 2020)."""

    keeps: ClassVar[str] = "a slow copy"

    def __init__(self, learner: ER) -> None:
        self.slow = make_teacher(learner.encoder_, learner.projector_)

    @torch.no_grad()
    def targets(self, learner: ER, views: Tensor, z: Tensor) -> Tensor:
        return forward(self.slow, views, learner._view_rng)

    def follow(self, learner: ER) -> None:
        follow(self.slow, learner.encoder_, learner.projector_, learner.ema)

    def parts(self) -> dict[str, Part]:
        return {"slow": self.slow}
