"""SCALE: pseudo-supervised contrast, self-supervised forgetting, uniform memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import torch
import tyro
from torch import Tensor

from scale.losses import (
    Direction,
    contrastive_loss,
    dot_products,
    forgetting_loss,
    image_similarity,
    pseudo_positives,
    pseudo_positives_of_images,
    symmetric_sne,
    twin_positives,
)
from scale.memory import POLICIES
from scale.methods.core.checks import Positive, Weight
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.past import Past
from scale.methods.core.registry import register_method
from scale.methods.core.replay import Replay
from scale.methods.core.state import Part
from scale.models import ImageShape


@register_method("scale")
@dataclass(kw_only=True)
class SCALE(Replay, ContrastiveLearner):
    """Self-supervised contrastive lifelong learning without prior knowledge.

    Each update minimises a contrastive loss, whose positives are stream views of high similarity,
    plus a forgetting loss, which keeps similarities close to those of the model before this batch.
    The defaults are ours; the preset ``paper`` has the paper's values, ``released`` those of the
    released code.

    Attributes
    ----------
    past_
        Encoder and projector before this batch.

    References
    ----------
    Yu, Guo, Gao and Rosing (2023), SCALE: Online Self-Supervised Lifelong Learning without Prior
    Knowledge, CVPR Workshop on Continual Learning in Computer Vision.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.random.default_rng(0).integers(0, 256, (8, 1, 28, 28), dtype=np.uint8)
    >>> learner = SCALE(encoder="cnn", augmentation="mnist", steps_per_batch=1)
    >>> learner.partial_fit(images).transform(images).shape
    (8, 128)
    """

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "paper": {"kappa": 0.1, "mu": 0.05, "views": "once", "memory_anchors": False},
        "released": {
            "kappa": 0.1,
            "mu": 0.1,
            "views": "once",
            "memory_anchors": False,
            "memory_size": 256,
            "lam": 0.15,
            "lam_relative": True,
            "kappa_past": 0.01,
            "similarity": "h",
            "past_projector": "current",
        },
    }

    memory_policy: Annotated[str, tyro.conf.arg(metavar=POLICIES.choices())] = "psa"
    """Which images stay in memory; `scale methods` describes the policies."""
    kappa: Positive = 0.03
    """Temperature of the similarity (paper: 0.1)."""
    mu: Weight = 0.3
    """Threshold of pseudo-positives: 0 is the mean similarity, 1 the maximum (paper: 0.05)."""
    lam: Weight = 0.1
    """Weight of the forgetting loss (the paper's lambda)."""
    lam_relative: bool = False
    """Multiply lam by first contrastive / first forgetting loss, like the released code."""
    kappa_past: Positive | None = None
    """Temperature of the past similarity (released code: 0.01); kappa by default."""
    memory_anchors: bool = True
    """Use replayed views as anchors too, with their twin as positive (paper: negatives only)."""
    forgetting_direction: Direction = "past-to-current"
    """Direction of the forgetting loss: KL(past || current) or KL(current || past)."""
    similarity: Literal["z", "h"] = "z"
    """Find pseudo-positives by projections z of views, or features h of images (released code)."""
    past_projector: Literal["frozen", "current"] = "frozen"
    """Project past features by the past projector, or by the current one (released code)."""

    def setup(self, image_shape: ImageShape) -> None:
        super().setup(image_shape)
        self.past_ = Past(self.encoder_, self.projector_)
        self._lam_scale = torch.tensor(0.0 if self.lam_relative else 1.0, device=self.device)

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        self.past_.freeze()
        for stream_views in self.updates(batch):
            self.step(self.losses(stream_views, self.replay_views()))
        self.remember(batch, labels)

    def losses(self, stream_views: Tensor, memory_views: Tensor) -> dict[str, Tensor]:
        """Return the losses of an update, and the mean number of positives of a stream view."""
        n, m = len(stream_views) // 2, len(memory_views) // 2
        z = self.project(torch.cat([stream_views, memory_views]))  # (2(m+n), 128)
        dots = dot_products(z)  # (2(m+n), 2(m+n)), for both losses
        p = symmetric_sne(dots, self.kappa)

        positives = self._pseudo_positives(p.detach(), n)  # (2n, 2(m+n))
        count = positives.sum() / (2 * n)
        if self.memory_anchors:
            of_memory = twin_positives(m, len(z), first=2 * n, device=z.device)
            positives = torch.cat([positives, of_memory])  # (2(m+n), 2(m+n))
        contrastive = contrastive_loss(dots, positives, self.tau)
        losses = {"loss": contrastive, "contrastive": contrastive, "pseudo_positives": count}
        if self.lam == 0:
            return losses

        p_past = self._past_similarity(stream_views, memory_views)
        forgetting = forgetting_loss(p, p_past, self.forgetting_direction)
        if self._lam_scale == 0 and forgetting > 0:  # lam_relative, first update
            self._lam_scale.copy_(contrastive.detach() / forgetting.detach())
        loss = contrastive + self.lam * self._lam_scale * forgetting
        return {**losses, "loss": loss, "forgetting": forgetting}

    def _pseudo_positives(self, p: Tensor, n: int) -> Tensor:
        if self.similarity == "z":
            return pseudo_positives(p, n, self.mu)
        assert self.features_ is not None  # of this update
        of_images = image_similarity(self.features_, n, self.kappa)
        return pseudo_positives_of_images(of_images, n, self.mu)

    @torch.no_grad()
    def _past_similarity(self, stream_views: Tensor, memory_views: Tensor) -> Tensor:
        h = self.past_.encode(stream_views, memory_views, reuse=self.views == "once")
        projector = self.past_.projector if self.past_projector == "frozen" else self.projector_
        kappa = self.kappa if self.kappa_past is None else self.kappa_past
        return symmetric_sne(dot_products(projector(h)), kappa)  # (2(m+n), 2(m+n))

    def parts(self) -> dict[str, Part]:
        return {**super().parts(), "lam_scale": self._lam_scale}
