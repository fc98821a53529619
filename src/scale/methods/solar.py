"""SOLAR: memory keeps what still varies between views, and cones of images must not overlap."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor
from torch.nn import functional as F

from scale.losses import contrastive_loss, dot_products, overlap_loss, stream_and_memory_twins
from scale.memory import Memory
from scale.memory.deviation import DEVIATION, REPLAYS, ByDeviation
from scale.methods.core.checks import Weight
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.facts import Costs
from scale.methods.core.registry import register_method
from scale.methods.core.replay import Replay
from scale.models import ImageShape


@register_method("solar")
@dataclass(kw_only=True)
class SOLAR(Replay, ContrastiveLearner):
    """Experience replay; images that no longer vary between views leave memory; an overlap loss.

    Memory keeps with each image its deviation, 1 - cosine of the projections of its two views, and
    how often it was replayed. New images always enter. Those with low deviation and many replays
    leave. The overlap loss penalises images whose views reach into each other's place in the space
    of features.

    From the paper's abstract: a buffer guided by online proxies of Deviation, and an Overlap loss.
    From the authors' repository, in the state before the paper: the score, its weight 0.5, that new
    images always enter, and the sum of two radii minus the distance of centres. The formulas of the
    paper were not found. Ours: angles throughout, where that code mixes angles and cosines; overlap
    among the images of an update, not with stored features; NT-Xent; stream and replayed images in
    every update.

    References
    ----------
    Cignoni, Magistri, Bagdanov and Carta (2026), Preventing Latent Rehearsal Decay in Online
    Continual SSL with SOLAR, arXiv 2604.10586.
    """

    memory_policy: ClassVar[str] = "reservoir"  # type: ignore[misc]  # no parameter: see make_memory
    memory_clusters: ClassVar[int] = 1  # type: ignore[misc]
    omega: Weight = 1.0
    """Weight of the overlap loss."""
    gamma: Weight = 0.5
    """Weight of the number of replays, against the deviation, when images leave memory."""

    def costs(self) -> Costs:
        return replace(super().costs(), memory=f"{self.memory_size} images with their deviations")

    def setup(self, image_shape: ImageShape) -> None:
        super().setup(image_shape)
        self._deviation = torch.empty(0)  # of the images of the last update

    def make_memory(self) -> Memory:
        memory = super().make_memory()
        memory.policy = ByDeviation(self.gamma)
        return memory

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        n = len(batch)
        for stream_views in self.updates(batch):
            self.step(self.losses(stream_views, self.replay_views()))
            if len(self.replayed_):
                self.memory_.columns[DEVIATION][self.replayed_] = self._deviation[n:]
                self.memory_.columns[REPLAYS][self.replayed_] += 1
        columns = {DEVIATION: self._deviation[:n], REPLAYS: torch.zeros(n, dtype=torch.int64)}
        self.remember(batch, labels, columns=columns)

    def losses(self, stream_views: Tensor, memory_views: Tensor) -> dict[str, Tensor]:
        """Return the losses of an update."""
        n, m = len(stream_views) // 2, len(memory_views) // 2
        h = self.encode_views(torch.cat([stream_views, memory_views]))  # (2(m+n), d)
        self.features_ = h.detach()
        z: Tensor = self.projector_(h)
        self._deviation = _one_minus_cosine(z.detach(), n, m).cpu()
        twins = stream_and_memory_twins(n, m).to(z.device)
        contrastive = contrastive_loss(dot_products(z), twins, self.tau)
        if self.omega == 0:
            return {"loss": contrastive, "contrastive": contrastive}
        first, second = _views(h, n, m)
        overlap = overlap_loss(torch.cat([first, second]))
        loss = contrastive + self.omega * overlap
        return {"loss": loss, "contrastive": contrastive, "overlap": overlap}


def _views(rows: Tensor, n: int, m: int) -> tuple[Tensor, Tensor]:
    """Return first and second views of all images, stream images first, (n + m, d) each."""
    first = torch.cat([rows[:n], rows[2 * n : 2 * n + m]])
    second = torch.cat([rows[n : 2 * n], rows[2 * n + m :]])
    return first, second


def _one_minus_cosine(z: Tensor, n: int, m: int) -> Tensor:
    return 1 - F.cosine_similarity(*_views(z, n, m), dim=1)  # (n + m,)
