"""LeJEPA: alike twins, and projections that are distributed like a standard normal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from scale.losses import normality
from scale.methods.objectives.objective import (
    OBJECTIVES,
    Losses,
    Objective,
    by_view,
    project_freely,
)

if TYPE_CHECKING:
    from scale.methods.er import ER

DIRECTIONS = 256  # drawn for each update
NORMAL = 0.02  # weight of the distance from a normal distribution; the rest is for twins


@OBJECTIVES.register("lejepa")
class LeJEPA(Objective):
    """Distance of twins from their mean, and of projections from a normal distribution (2025)."""

    def losses(self, learner: ER, views: Tensor, n: int, m: int) -> Losses:
        first, second = project_freely(learner, by_view(views, n, m))
        invariance = (first - second).square().mean() / 4  # from the mean of both
        drawn = torch.randn(first.shape[1], DIRECTIONS, generator=learner._view_rng)
        directions = drawn.to(first.device)
        normal = (normality(first, directions) + normality(second, directions)) / 2
        loss = (1 - NORMAL) * invariance + NORMAL * normal
        return {"loss": loss, "invariance": invariance, "normality": normal}
