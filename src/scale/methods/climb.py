"""CLIMB: experience replay with a slow teacher, from a memory of centroids."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from scale._errors import InputError
from scale.memory.centroids import CentroidMemory
from scale.methods._aligned import AlignedLearner
from scale.methods._base import CHUNK
from scale.methods._checks import check_numbers
from scale.methods._facts import Costs
from scale.methods._registry import register_method
from scale.models import ImageShape


@register_method("climb")
@dataclass(kw_only=True)
class CLIMB(AlignedLearner):
    """Replayed images are aligned with a slow teacher; memory is groups of images around centroids.

    Centroids live in the space of z. The authors' memory takes image after image; here a batch is
    compared with the centroids before it, images that are new to them but near each other share a
    new centroid, and what replay shows moves centroids instead of embedding memory anew. The
    authors' sizes (2500 images, 100 short-term and 60 long-term centroids of 30 images) are shares
    of `memory_size`.

    References
    ----------
    Lefebvre, Duffner and Lefort (2026), CLIMB: Centroid-Based Hierarchical Memory for Online
    Continual Self-Supervised Learning, CoLLAs.
    """

    memory_policy: str = "reservoir"
    """Has no say: what stays is decided by the centroids."""
    centroid_images: int = 30
    """Most images of a centroid; a short-term one with so many is promoted."""
    short_share: float = 0.04
    """Most short-term centroids, as a part of memory_size."""
    long_share: float = 0.7
    """Most images of long-term centroids, as a part of memory_size."""
    centroid_rate: float = 0.1
    """How far a short-term centroid goes towards an image that joins it."""
    novelty: float = 0.95
    """Quantile of recent distances above which an image starts a centroid."""
    novelty_window: int = 1000
    """How many distances are recent."""

    def costs(self) -> Costs:
        costs = super().costs()
        return replace(costs, memory=f"{costs.memory}, centroids")

    def _start(self, image_shape: ImageShape) -> None:
        self._check()
        super()._start(image_shape)

    def _make_memory(self) -> CentroidMemory:
        return CentroidMemory(
            self.memory_size,
            self._memory_rng,
            each=self.centroid_images,
            short_share=self.short_share,
            long_share=self.long_share,
            rate=self.centroid_rate,
            novelty=self.novelty,
            window=self.novelty_window,
        )

    def _check(self) -> None:
        if self.memory_policy != "reservoir":
            raise InputError(
                f"climb's centroids decide what stays in memory; leave out memory_policy, "
                f"which was {self.memory_policy!r}"
            )
        if self.memory_size == 1:
            raise InputError("memory_size of climb must be 0 or at least 2, got 1")
        check_numbers(self, "centroid_images", "novelty_window", least=1, whole=True)
        check_numbers(self, "short_share", "long_share", above=0)
        check_numbers(self, "centroid_rate", "novelty", least=0, most=1)
        if self.short_share + self.long_share >= 1:
            raise InputError(
                "short_share and long_share must together be below 1, "
                f"got {self.short_share} and {self.long_share}"
            )

    def _update(self, loss: Tensor) -> None:
        super()._update(loss)
        assert isinstance(self.memory_, CentroidMemory)
        self.memory_.follow(self.replayed_, self._replayed_z)

    def _candidate_features(self, batch: Tensor) -> Tensor:
        with torch.no_grad():
            chunks = [self.projector_(self._encode(part)) for part in torch.split(batch, CHUNK)]
        return torch.cat(chunks)  # (n, 128)
