"""LUMP: SimCLR on stream images mixed with images of the past."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from scale.methods._checks import check_numbers
from scale.methods._registry import register_method
from scale.methods._replay import ReplayLearner
from scale.methods.simclr import SimCLR
from scale.models import ImageShape


@register_method("lump")
@dataclass(kw_only=True)
class LUMP(ReplayLearner, SimCLR):
    """NT-Xent between views that are part stream and part memory; reservoir.

    Each stream image gets a partner from memory, and the views of both are mixed, first with first
    and second with second: lambda x stream + (1 - lambda) x memory, with one lambda for the whole
    update. When fewer images are drawn from memory than the batch has, they are repeated, each time
    in other views. LUMP's code keeps the second view of a buffered image as it was when the image
    came; here both are drawn anew.

    References
    ----------
    Madaan, Yoon, Li, Liu and Hwang (2022), Representational Continuity for Unsupervised Continual
    Learning, ICLR.
    """

    alpha: float = 0.4
    """lambda is drawn from Beta(alpha, alpha); with 0 it is always 1, which is SimCLR."""

    def _start(self, image_shape: ImageShape) -> None:
        check_numbers(self, "alpha", least=0)
        super()._start(image_shape)

    def _memory_views(self, stream_views: Tensor) -> Tensor:
        if self.alpha == 0:
            return stream_views[:0]
        n = len(stream_views) // 2
        drawn = self.memory_.draw(min(self.memory_batch, n))
        if len(drawn) == 0:
            return stream_views[:0]
        self.replayed_ = drawn[torch.arange(n) % len(drawn)]  # (n,)
        return self._draw_views(self.memory_.images[self.replayed_])  # (2n, c, h, w)

    def _losses(self, stream_views: Tensor, memory_views: Tensor, step: int) -> dict[str, Tensor]:
        lam = 1.0
        if len(memory_views):
            lam = self._draw_lambda()
            stream_views = lam * stream_views + (1 - lam) * memory_views
        losses = super()._losses(stream_views, memory_views, step)
        return {**losses, "lam": torch.tensor(lam)}

    def _draw_lambda(self) -> float:
        # torch's Beta knows no generator, and NumPy's is not part of the learner's state.
        seed = int(torch.randint(2**63 - 1, (), generator=self._memory_rng))
        return float(np.random.default_rng(seed).beta(self.alpha, self.alpha))
