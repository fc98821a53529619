"""CLIMB: experience replay with a slow teacher, from a memory of centroids."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from scale._errors import InputError
from scale.losses import alignment_loss, contrastive_loss, dot_products, stream_and_memory_twins
from scale.memory.centroids import CentroidMemory
from scale.methods.core.alignment import follow, make_aligner, make_teacher, mean_of_twins
from scale.methods.core.checks import Amount, Count, Fraction, Positive, Weight, check_memory
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.facts import Costs
from scale.methods.core.learner import CHUNK
from scale.methods.core.registry import register_method
from scale.methods.core.seeds import generators
from scale.methods.core.state import Part
from scale.models import ImageShape, forward


@register_method("climb")
@dataclass(kw_only=True)
class CLIMB(ContrastiveLearner):
    """Replayed projections are aligned to a slow teacher's; memory is groups around centroids.

    Centroids are in the space of z. The authors' memory takes one image at a time. Here a whole
    batch is compared with the centroids, and new images near each other share a new centroid.
    Replayed images move their centroids, so memory needs no further embedding. The authors' sizes
    (2500 images, 100 short-term and 60 long-term centroids of 30 images) become fractions of
    `memory_size`.

    Attributes
    ----------
    memory_
        Images in groups, each around a centroid.
    replayed_
        Indices in memory of the images drawn last, (m,).
    teacher_
        Slow copy of encoder and projector.

    References
    ----------
    Lefebvre, Duffner and Lefort (2026), CLIMB: Centroid-Based Hierarchical Memory for Online
    Continual Self-Supervised Learning, CoLLAs.
    """

    memory_size: Amount = 1280
    """Maximum number of images in memory (the paper's M)."""
    memory_batch: Amount = 128
    """Images drawn from memory for each update (the paper's m)."""
    omega: Weight = 1.0
    """Weight of the alignment with the teacher (authors: 0.1 to 2)."""
    ema: Fraction = 0.999
    """Momentum of the teacher: the part of its weights that an update keeps."""
    centroid_images: Count = 30
    """Maximum number of images of a centroid; a short-term centroid that has them is promoted."""
    short_share: Positive = 0.04
    """Maximum number of short-term centroids, as a fraction of memory_size."""
    long_share: Positive = 0.7
    """Maximum number of images of long-term centroids, as a fraction of memory_size."""
    centroid_rate: Fraction = 0.1
    """Step of a short-term centroid towards an image that joins it, from 0 to 1."""
    novelty: Fraction = 0.95
    """Quantile of recent distances above which an image starts a centroid. Higher: fewer."""
    novelty_window: Count = 1000
    """Number of recent distances for that quantile."""

    def costs(self) -> Costs:
        return replace(
            super().costs(),
            memory=f"{self.memory_size} images, a teacher, centroids",
            replayed_views=2 * self.memory_batch * self.steps_per_batch,
        )

    def setup(self, image_shape: ImageShape) -> None:
        self._check_fields()
        check_memory(self, "memory_size", self.memory_size * math.prod(image_shape))
        super().setup(image_shape)
        self._memory_rng = generators(self.seed, 3)[2]
        self.memory_: CentroidMemory = CentroidMemory(
            self.memory_size,
            self._memory_rng,
            each=self.centroid_images,
            short_share=self.short_share,
            long_share=self.long_share,
            rate=self.centroid_rate,
            novelty=self.novelty,
            window=self.novelty_window,
        )
        self.replayed_ = torch.empty(0, dtype=torch.int64)
        self.teacher_ = make_teacher(self.encoder_, self.projector_)
        self._replayed_z = torch.empty(0)  # of the last update, one per image

    def _check_fields(self) -> None:
        if self.memory_size == 1:
            raise InputError("memory_size of climb must be 0 or at least 2, got 1")
        if self.short_share + self.long_share >= 1:
            raise InputError(
                "short_share and long_share must together be below 1, "
                f"got {self.short_share} and {self.long_share}"
            )

    def heads(self) -> dict[str, nn.Module]:
        return {"aligner": make_aligner(self.projection_dim)}

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        for stream_views in self.updates(batch):
            self.replayed_ = self.memory_.draw(self.memory_batch)
            memory_views = self.no_views()
            if len(self.replayed_):
                memory_views = self.draw_views(self.memory_.images[self.replayed_])
            self.step(self.losses(stream_views, memory_views))
            follow(self.teacher_, self.encoder_, self.projector_, self.ema)
            self.memory_.follow(self.replayed_, self._replayed_z)
        if self.memory_size > 0:
            self.memory_.update(batch, self._project_images(batch))

    def losses(self, stream_views: Tensor, memory_views: Tensor) -> dict[str, Tensor]:
        """Return the losses of an update."""
        n, m = len(stream_views) // 2, len(memory_views) // 2
        z = self.project(torch.cat([stream_views, memory_views]))  # (2(m+n), 128)
        positives = stream_and_memory_twins(n, m).to(z.device)
        contrastive = contrastive_loss(dot_products(z), positives, self.tau)
        self._replayed_z = mean_of_twins(z[2 * n :].detach())  # (m, 128)
        if m == 0 or self.omega == 0:
            return {"loss": contrastive, "contrastive": contrastive}
        aligned = self.heads_["aligner"](z[2 * n :])  # (2m, 128)
        with torch.no_grad():
            targets = forward(self.teacher_, memory_views, self._view_rng)
        alignment = alignment_loss(aligned, targets)
        loss = contrastive + self.omega * alignment
        return {"loss": loss, "contrastive": contrastive, "alignment": alignment}

    @torch.no_grad()
    def _project_images(self, batch: Tensor) -> Tensor:
        chunks = [self.projector_(self.encode_images(part)) for part in torch.split(batch, CHUNK)]
        return torch.cat(chunks)  # (n, 128)

    def parts(self) -> dict[str, Part]:
        return {
            **super().parts(),
            "memory": self.memory_,
            "memory_rng": self._memory_rng,
            "teacher": self.teacher_,
        }
