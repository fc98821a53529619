"""CLA-E: replayed images keep the projections that a slow teacher gives them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from scale.losses import alignment_loss, contrastive_loss, dot_products, stream_and_memory_twins
from scale.methods.core.alignment import follow, make_aligner, make_teacher
from scale.methods.core.checks import Fraction, Weight
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.facts import Costs
from scale.methods.core.registry import register_method
from scale.methods.core.replay import Replay
from scale.methods.core.state import Part
from scale.models import ImageShape, forward


@register_method("cla")
@dataclass(kw_only=True)
class CLA(Replay, ContrastiveLearner):
    """Experience replay, with replayed projections aligned to those of a slow teacher (form E).

    The head ``aligner`` maps the projections of replayed views to the teacher's. After each update
    the teacher moves towards encoder and projector. `cla-r` is form R, without a teacher.

    Attributes
    ----------
    teacher_
        Slow copy of encoder and projector.

    References
    ----------
    Cignoni, Cossu, Gomez-Villa, van de Weijer and Carta (2025), CLA: Latent Alignment for Online
    Continual Self-Supervised Learning, CoLLAs.
    """

    omega: Weight = 1.0
    """Weight of the alignment with the teacher (authors: 0.1 to 2)."""
    ema: Fraction = 0.999
    """Momentum of the teacher: the part of its weights that an update keeps."""

    def costs(self) -> Costs:
        costs = super().costs()
        return replace(costs, memory=f"{costs.memory}, a teacher")

    def setup(self, image_shape: ImageShape) -> None:
        super().setup(image_shape)
        self.teacher_ = make_teacher(self.encoder_, self.projector_)

    def heads(self) -> dict[str, nn.Module]:
        return {"aligner": make_aligner(self.projection_dim)}

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        for stream_views in self.updates(batch):
            self.step(self.losses(stream_views, self.replay_views()))
            follow(self.teacher_, self.encoder_, self.projector_, self.ema)
        self.remember(batch, labels)

    def losses(self, stream_views: Tensor, memory_views: Tensor) -> dict[str, Tensor]:
        """Return the losses of an update."""
        n, m = len(stream_views) // 2, len(memory_views) // 2
        z = self.project(torch.cat([stream_views, memory_views]))  # (2(m+n), 128)
        positives = stream_and_memory_twins(n, m).to(z.device)
        contrastive = contrastive_loss(dot_products(z), positives, self.tau)
        if m == 0 or self.omega == 0:
            return {"loss": contrastive, "contrastive": contrastive}
        aligned = self.heads_["aligner"](z[2 * n :])  # (2m, 128)
        alignment = alignment_loss(aligned, self.targets(memory_views))
        loss = contrastive + self.omega * alignment
        return {"loss": loss, "contrastive": contrastive, "alignment": alignment}

    @torch.no_grad()
    def targets(self, memory_views: Tensor) -> Tensor:
        """Return the teacher's projections of replayed views, (2m, 128)."""
        return forward(self.teacher_, memory_views, self._view_rng)

    def parts(self) -> dict[str, Part]:
        return {**super().parts(), "teacher": self.teacher_}
