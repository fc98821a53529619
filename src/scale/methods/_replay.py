"""What every method that replays images from a memory shares."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from scale.memory import POLICIES, Memory
from scale.methods._base import CHUNK
from scale.methods._checks import check_numbers
from scale.methods._contrastive import ContrastiveLearner
from scale.methods._facts import Costs
from scale.methods._state import Part
from scale.models import ImageShape


@dataclass(kw_only=True)
class ReplayLearner(ContrastiveLearner):
    """A contrastive learner with a memory: m of its images are replayed in each update.

    After the updates of a batch the memory takes it in, and its policy decides what stays.

    Attributes
    ----------
    memory_
        The images of the past.
    replayed_
        Which of them are replayed in this update, (m,).
    start_encoder_
        What makes, with the seed, the encoder that learning started from: its name, or a copy of
        the module that the user brought.
    """

    memory_size: int = 1280
    """Most images kept in memory (the paper's M)."""
    memory_batch: int = 128
    """Images drawn from memory for each update (the paper's m)."""
    memory_policy: str = "reservoir"
    """Which images stay in memory: psa, random, reservoir, fifo, kmeans, minred, label."""
    memory_clusters: int = 10
    """Clusters of the kmeans policy; that is knowing how many classes there are."""

    @property
    def needs_labels(self) -> bool:
        return self.knows.labels or POLICIES[self.memory_policy].knows.labels

    def costs(self) -> Costs:
        return replace(
            super().costs(),
            memory=f"{self.memory_size} images",
            replayed_views=2 * self.memory_batch * self.steps_per_batch,
        )

    def _start(self, image_shape: ImageShape) -> None:
        check_numbers(self, "memory_size", "memory_batch", least=0, whole=True)
        check_numbers(self, "memory_clusters", least=1, whole=True)
        super()._start(image_shape)
        self.memory_ = self._make_memory()
        self.replayed_ = torch.empty(0, dtype=torch.int64)
        # The caller may change theirs, and `load` may be given one with other weights.
        self.start_encoder_ = deepcopy(self.encoder)

    def _make_memory(self) -> Memory:
        return Memory(self.memory_size, self.memory_policy, self._memory_rng, self.memory_clusters)

    def _memory_views(self, stream_views: Tensor) -> Tensor:
        self.replayed_ = self.memory_.draw(self.memory_batch)
        if len(self.replayed_) == 0:
            return stream_views[:0]
        return self._draw_views(self.memory_.images[self.replayed_])

    def _after_batch(self, batch: Tensor, labels: Tensor | None) -> None:
        features = None
        if self.memory_.wants_features(len(batch)):
            features = self._candidate_features(batch)
        self.memory_.update(batch, features, self._columns(batch, labels))

    def _candidate_features(self, batch: Tensor) -> Tensor:
        """Return the features by which the policy chooses, of memory and then of the batch."""
        images = torch.cat([self.memory_.images, batch]) if len(self.memory_) else batch
        with torch.no_grad():
            return torch.cat([self._encode(chunk) for chunk in torch.split(images, CHUNK)])

    def _columns(self, batch: Tensor, labels: Tensor | None) -> dict[str, Tensor]:
        """Return what is kept with each image of the batch: one row per image and name."""
        return {} if labels is None else {"labels": labels}

    def _parts(self) -> dict[str, Part]:
        parts = {**super()._parts(), "memory": self.memory_, "memory_rng": self._memory_rng}
        if isinstance(self.start_encoder_, nn.Module):
            parts["start_encoder"] = self.start_encoder_
        return parts
