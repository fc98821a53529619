"""What every method that aligns replayed images with their past shares."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from scale.losses import alignment_loss, contrastive_loss, dot_products, stream_and_memory_twins
from scale.methods._checks import check_numbers
from scale.methods._facts import Costs
from scale.methods._replay import ReplayLearner
from scale.methods._state import Part
from scale.models import ImageShape, default_rng

ALIGNER_WIDTH = 512


@dataclass(kw_only=True)
class AlignedLearner(ReplayLearner):
    """Experience replay, and an aligner that maps replayed projections to those of a teacher.

    The teacher is a slow copy of encoder and projector: after each update every parameter becomes
    ``ema`` of itself and ``1 - ema`` of the learner's. It is in training mode, as in the authors'
    code: its BatchNorm uses the statistics of the replayed views, and its running statistics are
    neither averaged nor used.

    Attributes
    ----------
    aligner_
        Linear - BatchNorm - ReLU - linear, on projections of unit length.
    teacher_
        The slow copy, if there is one.
    """

    omega: float = 1.0
    """Weight of the alignment (authors: 0.1 to 2)."""
    ema: float = 0.999
    """Momentum of the teacher."""

    def costs(self) -> Costs:
        costs = super().costs()
        kept = f"{costs.memory}, a teacher" if self._has_teacher else costs.memory
        return replace(costs, memory=kept)

    @property
    def _has_teacher(self) -> bool:
        return True

    def _start(self, image_shape: ImageShape) -> None:
        check_numbers(self, "omega", least=0)
        check_numbers(self, "ema", least=0, most=1)
        super()._start(image_shape)
        self.teacher_: nn.Module | None = None
        if self._has_teacher:
            self.teacher_ = deepcopy(self._model).requires_grad_(False)
        self._stream_z = self._replayed_z = torch.empty(0)

    @property
    def _model(self) -> nn.Module:
        return nn.Sequential(self.encoder_, self.projector_)

    def _build_heads(self, weights: torch.Generator) -> None:
        with default_rng(weights):
            aligner = nn.Sequential(
                nn.Linear(self.projection_dim, ALIGNER_WIDTH, bias=False),
                nn.BatchNorm1d(ALIGNER_WIDTH),
                nn.ReLU(),
                nn.Linear(ALIGNER_WIDTH, self.projection_dim),
            )
        self.aligner_ = aligner.to(self.device).train()

    def _losses(self, stream_views: Tensor, memory_views: Tensor, step: int) -> dict[str, Tensor]:
        n, m = len(stream_views) // 2, len(memory_views) // 2
        z = self._forward(torch.cat([stream_views, memory_views]))  # (2(m+n), 128)
        positives = stream_and_memory_twins(n, m).to(z.device)
        contrastive = contrastive_loss(dot_products(z), positives, self.tau)
        self._stream_z = _mean_of_twins(z[: 2 * n].detach())
        self._replayed_z = _mean_of_twins(z[2 * n :].detach())
        if m == 0 or self.omega == 0:
            return {"loss": contrastive, "contrastive": contrastive}
        aligned = self.aligner_(z[2 * n :])  # (2m, 128)
        alignment = alignment_loss(aligned, self._targets(memory_views))
        return {
            "loss": contrastive + self.omega * alignment,
            "contrastive": contrastive,
            "alignment": alignment,
        }

    def _targets(self, memory_views: Tensor) -> Tensor:
        """Return what the aligned projections of replayed views should be, (2m, 128)."""
        assert self.teacher_ is not None
        with torch.no_grad(), default_rng(self._view_rng):  # dropout in a module of the user's own
            z: Tensor = self.teacher_(memory_views)
        return z

    def _update(self, loss: Tensor) -> None:
        super()._update(loss)
        if self.teacher_ is None:
            return
        with torch.no_grad():
            for slow, now in zip(self.teacher_.parameters(), self._model.parameters(), strict=True):
                slow.lerp_(now, 1 - self.ema)

    def _trained(self) -> list[nn.Parameter]:
        return [*super()._trained(), *self.aligner_.parameters()]

    def _parts(self) -> dict[str, Part]:
        teacher: dict[str, Part] = {} if self.teacher_ is None else {"teacher": self.teacher_}
        return {**super()._parts(), "aligner": self.aligner_, **teacher}


def _mean_of_twins(z: Tensor) -> Tensor:
    """Return one row per image from (2n, d) views stacked as (first views, second views)."""
    n = len(z) // 2
    return (z[:n] + z[n:]) / 2  # (n, d)
