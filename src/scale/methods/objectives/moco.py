"""MoCo: each view finds the slow copy's projection of its twin among a queue of earlier ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from scale.losses import queue_contrast, twins
from scale.methods.core.alignment import follow, make_teacher
from scale.methods.core.checks import check_memory
from scale.methods.core.ring import Ring
from scale.methods.core.seeds import generators
from scale.methods.core.state import Part
from scale.methods.objectives.objective import OBJECTIVES, Losses, Objective, by_view
from scale.models import forward

if TYPE_CHECKING:
    from scale.methods.er import ER


@OBJECTIVES.register("moco")
class MoCo(Objective):
    """Contrast with a queue of keys, which a slow copy makes (He et al., 2020)."""

    keeps: ClassVar[str] = "a slow copy, a queue of keys"

    def __init__(self, learner: ER) -> None:
        dim = learner.projection_dim
        check_memory(learner, "queue", 4 * learner.queue * dim)
        self.slow = make_teacher(learner.encoder_, learner.projector_)
        self.queue = Ring(learner.queue, (dim,)).to(learner.device)
        start = torch.randn(learner.queue, dim, generator=generators(learner.seed, 4)[3])
        self.queue.push(F.normalize(start, dim=1))

    def losses(self, learner: ER, views: Tensor, n: int, m: int) -> Losses:
        views = by_view(views, n, m)
        queries = learner.project(views)  # (2(m+n), 128)
        with torch.no_grad():
            keys = forward(self.slow, views, learner._view_rng)
        own = keys[twins(n + m, keys.device)]
        found = {"loss": queue_contrast(queries, own, self.queue.latest(), learner.tau)}
        self.queue.push(keys)
        return found

    def follow(self, learner: ER) -> None:
        follow(self.slow, learner.encoder_, learner.projector_, learner.ema)

    def parts(self) -> dict[str, Part]:
        return {"slow": self.slow, "queue": self.queue}
