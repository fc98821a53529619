"""SupCon: contrast with labels, the supervised reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
import tyro
from torch import Tensor

from scale.losses import contrastive_loss, dot_products, label_positives
from scale.memory import POLICIES
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.facts import Knowledge
from scale.methods.core.registry import register_method
from scale.methods.core.replay import Replay


@register_method("supcon")
@dataclass(kw_only=True)
class SupCon(Replay, ContrastiveLearner):
    """Supervised contrast over stream and replayed images; label-balanced memory.

    Every view is an anchor, and all other views of its class are its positives. It learns from
    labels, so it is a reference for the unsupervised methods.

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

    memory_policy: Annotated[str, tyro.conf.arg(metavar=POLICIES.choices())] = "label"
    """Which images stay in memory; `scale methods` describes the policies."""

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        assert labels is not None  # checked by partial_fit
        for stream_views in self.updates(batch):
            self.step(self.losses(stream_views, self.replay_views(), labels))
        self.remember(batch, labels)

    def losses(
        self, stream_views: Tensor, memory_views: Tensor, labels: Tensor
    ) -> dict[str, Tensor]:
        """Return the loss of an update; memory views are those of the images `replayed_`."""
        z = self.project(torch.cat([stream_views, memory_views]))  # (2(m+n), 128)
        of_views = labels.repeat(2)  # (2n,)
        if len(memory_views):
            replayed = self.memory_.columns["labels"][self.replayed_]  # (m,)
            of_views = torch.cat([of_views, replayed.repeat(2)])  # (2(m+n),)
        positives = label_positives(of_views).to(z.device)  # (2(m+n), 2(m+n))
        return {"loss": contrastive_loss(dot_products(z), positives, self.tau)}
