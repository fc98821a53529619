"""Experience replay: SimCLR, or another objective, on stream and replayed images together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import torch
import tyro
from torch import Tensor, nn

from scale.methods.core.checks import Count, Fraction
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.facts import Costs
from scale.methods.core.registry import register_method
from scale.methods.core.replay import Replay
from scale.methods.core.state import Part
from scale.methods.objectives import OBJECTIVES
from scale.models import ImageShape


@register_method("er")
@dataclass(kw_only=True)
class ER(Replay, ContrastiveLearner):
    """NT-Xent over stream and replayed images, every view an anchor with its twin; reservoir.

    `objective` replaces NT-Xent; encoder, projector, views, memory and optimiser stay the same.

    Attributes
    ----------
    objective_
        The objective, with what it keeps: a slow copy, a queue.
    """

    objective: Annotated[str, tyro.conf.arg(metavar=OBJECTIVES.choices())] = "ntxent"
    """What an update minimises: ntxent, simsiam, byol, vicreg, barlow, moco or lejepa."""
    ema: Fraction = 0.99
    """Momentum of the slow copy of byol and moco: the part of its weights that an update keeps."""
    queue: Count = 4096
    """Keys that are the negatives of moco."""

    def check_params(self) -> None:
        super().check_params()
        OBJECTIVES[self.objective]  # raises for an unknown name

    def costs(self) -> Costs:
        costs, more = super().costs(), OBJECTIVES[self.objective].keeps
        return replace(costs, memory=f"{costs.memory}, {more}") if more else costs

    def heads(self) -> dict[str, nn.Module]:
        return OBJECTIVES[self.objective].heads(self.projection_dim)

    def setup(self, image_shape: ImageShape) -> None:
        super().setup(image_shape)
        self.objective_ = OBJECTIVES[self.objective](self)

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        for stream_views in self.updates(batch):
            self.step(self.losses(stream_views, self.replay_views()))
            self.objective_.follow(self)
        self.remember(batch, labels)

    def losses(self, stream_views: Tensor, memory_views: Tensor) -> dict[str, Tensor]:
        """Return the losses of an update."""
        n, m = len(stream_views) // 2, len(memory_views) // 2
        return self.objective_.losses(self, torch.cat([stream_views, memory_views]), n, m)

    def parts(self) -> dict[str, Part]:
        return {**super().parts(), **self.objective_.parts()}
