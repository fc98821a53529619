"""SCALE: pseudo-supervised contrast, self-supervised forgetting, uniform memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import torch
from torch import Tensor, nn

from scale._errors import InputError
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
from scale.methods._checks import check_numbers
from scale.methods._past import PastLearner
from scale.methods._registry import register_method
from scale.methods._state import Part


@register_method("scale")
@dataclass(kw_only=True)
class SCALE(PastLearner):
    """Self-supervised contrastive lifelong learning without prior knowledge.

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

    memory_policy: str = "psa"
    """Which images stay in memory: psa, random, reservoir, fifo, kmeans, minred, label."""
    kappa: float = 0.03
    """Temperature of the similarity (paper: 0.1)."""
    mu: float = 0.3
    """Threshold of pseudo-positives between mean (0) and greatest (1) similarity (paper: 0.05)."""
    lam: float = 0.1
    """Weight of the forgetting loss (the paper's lambda)."""
    lam_relative: bool = False
    """Multiply lam by first contrastive / first forgetting loss, as the released code does."""
    kappa_past: float | None = None
    """Temperature of the past similarity (released code: 0.01); kappa when not given."""
    memory_anchors: bool = True
    """Replayed views are anchors too, with their twin as positive (paper: negatives only)."""
    forgetting_direction: Direction = "past-to-current"
    """KL(past || current) or KL(current || past)."""
    similarity: Literal["z", "h"] = "z"
    """Pseudo-positives by projections of views, or by features of images (released code)."""
    past_projector: Literal["frozen", "current"] = "frozen"
    """Past features pass the projector of the past, or today's (released code)."""

    def _start(self, image_shape: tuple[int, int, int]) -> None:
        check_numbers(self, "kappa", above=0)
        check_numbers(self, "mu", "lam", least=0)
        if self.kappa_past is not None:
            check_numbers(self, "kappa_past", above=0)
        if self.forgetting_direction not in get_args(Direction):
            raise InputError(
                f"forgetting_direction must be one of {', '.join(get_args(Direction))}, "
                f"got {self.forgetting_direction!r}"
            )
        if self.similarity not in ("z", "h"):
            raise InputError(f"similarity must be 'z' or 'h', got {self.similarity!r}")
        if self.past_projector not in ("frozen", "current"):
            raise InputError(
                f"past_projector must be 'frozen' or 'current', got {self.past_projector!r}"
            )
        super()._start(image_shape)
        self._lam_scale = torch.tensor(0.0 if self.lam_relative else 1.0, device=self.device)

    def _losses(self, stream_views: Tensor, memory_views: Tensor, step: int) -> dict[str, Tensor]:
        n = len(stream_views) // 2
        z = self._forward(torch.cat([stream_views, memory_views]))  # (2(m+n), 128)
        dots = dot_products(z)  # (2(m+n), 2(m+n)), for both losses
        p = symmetric_sne(dots, self.kappa)
        positives = self._pseudo_positives(p.detach(), n)  # (2n, 2(m+n))
        count = positives.sum() / (2 * n)
        if self.memory_anchors:
            of_memory = twin_positives(len(memory_views) // 2, len(z), first=2 * n, device=z.device)
            positives = torch.cat([positives, of_memory])  # (2(m+n), 2(m+n))
        contrastive = contrastive_loss(dots, positives, self.tau)
        losses = {"loss": contrastive, "contrastive": contrastive, "pseudo_positives": count}
        if self.lam > 0:
            kappa_past = self.kappa if self.kappa_past is None else self.kappa_past
            p_past = symmetric_sne(
                dot_products(self._past_z(stream_views, memory_views)), kappa_past
            )
            forgetting = forgetting_loss(p, p_past, self.forgetting_direction)
            losses["loss"] = (
                contrastive + self._forgetting_weight(contrastive, forgetting) * forgetting
            )
            losses["forgetting"] = forgetting
        return losses

    def _pseudo_positives(self, p: Tensor, n: int) -> Tensor:
        if self.similarity == "z":
            return pseudo_positives(p, n, self.mu)
        assert self.features_ is not None  # of this update
        of_images = image_similarity(self.features_, n, self.kappa)
        return pseudo_positives_of_images(of_images, n, self.mu)

    @property
    def _past_projector(self) -> nn.Module:
        return self.projector_ if self.past_projector == "current" else super()._past_projector

    def _forgetting_weight(self, contrastive: Tensor, forgetting: Tensor) -> Tensor:
        if self._lam_scale == 0 and forgetting > 0:
            self._lam_scale.copy_(contrastive.detach() / forgetting.detach())
        return self.lam * self._lam_scale

    def _parts(self) -> dict[str, Part]:
        return {**super()._parts(), "lam_scale": self._lam_scale}
