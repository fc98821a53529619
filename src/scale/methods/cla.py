"""Continual latent alignment: replayed images keep the projections that they had."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from scale._errors import InputError
from scale.methods._aligned import AlignedLearner
from scale.methods._facts import Costs
from scale.methods._registry import register_method
from scale.models import ImageShape

PROJECTIONS = "projections"  # column of the memory


@register_method("cla")
@dataclass(kw_only=True)
class CLA(AlignedLearner):
    """Experience replay with alignment of replayed images to a slow teacher or to memory.

    In form R the memory keeps a projection with each image, the mean over its two views: that of
    its batch's last update at first, and that of each update that replayed it since.

    References
    ----------
    Cignoni, Cossu, Gomez-Villa, van de Weijer and Carta (2025), CLA: Latent Alignment for Online
    Continual Self-Supervised Learning, CoLLAs.
    """

    form: Literal["E", "R"] = "E"
    """Align with a moving average of the network (E), or with projections kept in memory (R)."""

    def costs(self) -> Costs:
        costs = super().costs()
        if self.form == "R":
            costs = replace(costs, memory=f"{costs.memory} with their projections")
        return costs

    @property
    def _has_teacher(self) -> bool:
        return self.form == "E"

    def _start(self, image_shape: ImageShape) -> None:
        if self.form not in ("E", "R"):
            raise InputError(f"form must be 'E' or 'R', got {self.form!r}")
        super()._start(image_shape)

    def _targets(self, memory_views: Tensor) -> Tensor:
        if self.form == "E":
            return super()._targets(memory_views)
        stored = self.memory_.columns[PROJECTIONS][self.replayed_]  # (m, 128)
        return torch.cat([stored, stored]).to(memory_views.device)

    def _update(self, loss: Tensor) -> None:
        super()._update(loss)
        if self.form == "R" and len(self.replayed_):
            self.memory_.columns[PROJECTIONS][self.replayed_] = self._replayed_z.cpu()

    def _columns(self, batch: Tensor, labels: Tensor | None) -> dict[str, Tensor]:
        columns = super()._columns(batch, labels)
        return {**columns, PROJECTIONS: self._stream_z} if self.form == "R" else columns


@register_method("cla-r")
@dataclass(kw_only=True)
class CLAR(CLA):
    """CLA that aligns with projections kept in memory."""

    form: Literal["E", "R"] = "R"
    """Align with a moving average of the network (E), or with projections kept in memory (R)."""
