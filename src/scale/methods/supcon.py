"""SupCon: contrast with labels, the supervised reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from scale.losses import contrastive_loss, dot_products, label_positives
from scale.methods._facts import Knowledge
from scale.methods._registry import register_method
from scale.methods._replay import ReplayLearner
from scale.models import ImageShape


@register_method("supcon")
@dataclass(kw_only=True)
class SupCon(ReplayLearner):
    """Supervised contrast over stream and replayed images; label-balanced memory.

    Every view is an anchor, and all other views of its class are its positives. It learns from
    labels, which no unsupervised method may see.

    References
    ----------
    Khosla et al. (2020), Supervised Contrastive Learning, NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.random.default_rng(0).integers(0, 256, (8, 1, 28, 28), dtype=np.uint8)
    >>> learner = SupCon(encoder="cnn", augmentation="mnist", steps_per_batch=1)
    >>> learner.partial_fit(images, [0, 0, 1, 1, 2, 2, 3, 3]).transform(images).shape
    (8, 128)
    """

    knows: ClassVar[Knowledge] = Knowledge(labels=True)

    memory_policy: str = "label"
    """Which images stay in memory: psa, random, reservoir, fifo, kmeans, minred, label."""

    def _start(self, image_shape: ImageShape) -> None:
        super()._start(image_shape)
        self._stream_labels = torch.empty(0, dtype=torch.int64)

    def _before_batch(self, batch: Tensor, labels: Tensor | None) -> None:
        assert labels is not None
        self._stream_labels = labels

    def _losses(self, stream_views: Tensor, memory_views: Tensor, step: int) -> dict[str, Tensor]:
        z = self._forward(torch.cat([stream_views, memory_views]))  # (2(m+n), 128)
        positives = label_positives(self._view_labels()).to(z.device)  # (2(m+n), 2(m+n))
        return {"loss": contrastive_loss(dot_products(z), positives, self.tau)}

    def _view_labels(self) -> Tensor:
        """Return the class of each view of this update, (2(m+n),)."""
        stream = self._stream_labels
        if len(self.replayed_) == 0:
            return stream.repeat(2)
        replayed = self.memory_.columns["labels"][self.replayed_]  # (m,)
        return torch.cat([stream.repeat(2), replayed.repeat(2)])
