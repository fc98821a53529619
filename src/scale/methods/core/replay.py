"""Replay: a memory of past images; each update learns from some of them again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import torch
import tyro
from torch import Tensor

from scale.memory import POLICIES, Memory
from scale.methods.core.checks import Amount, Count, check_memory
from scale.methods.core.facts import Costs
from scale.methods.core.learner import CHUNK
from scale.methods.core.seeds import generators
from scale.methods.core.state import Part
from scale.models import ImageShape

if TYPE_CHECKING:
    from scale.methods.core.contrastive import ContrastiveLearner as Host
else:
    Host = object


@dataclass(kw_only=True)
class Replay(Host):
    """Adds a memory to a contrastive learner: ``class Mine(Replay, ContrastiveLearner)``.

    In each update, `replay_views` draws m images from memory. After the updates of a batch,
    `remember` adds the batch to the memory, and the policy chooses the images to keep.

    Attributes
    ----------
    memory_
        Images of the past.
    replayed_
        Indices in memory of the images drawn last, (m,).
    """

    memory_size: Amount = 1280
    """Maximum number of images in memory (the paper's M). More keep more of the past."""
    memory_batch: Amount = 128
    """Images drawn from memory for each update (the paper's m)."""
    memory_policy: Annotated[str, tyro.conf.arg(metavar=POLICIES.choices())] = "reservoir"
    """Which images stay in memory; `scale methods` describes the policies."""
    memory_clusters: Count = 10
    """Clusters of the policy kmeans: set it to the number of classes."""

    @property
    def needs_labels(self) -> bool:
        return self.knows.labels or POLICIES[self.memory_policy].knows.labels

    def costs(self) -> Costs:
        return replace(
            super().costs(),
            memory=f"{self.memory_size} images",
            replayed_views=2 * self.memory_batch * self.steps_per_batch,
        )

    def setup(self, image_shape: ImageShape) -> None:
        check_memory(self, "memory_size", self.memory_size * math.prod(image_shape))
        super().setup(image_shape)
        self._memory_rng = generators(self.seed, 3)[2]
        self.memory_: Memory = self.make_memory()
        self.replayed_ = torch.empty(0, dtype=torch.int64)

    def make_memory(self) -> Memory:
        """Return an empty memory with the policy."""
        return Memory(self.memory_size, self.memory_policy, self._memory_rng, self.memory_clusters)

    def replay_views(self) -> Tensor:
        """Draw images from memory and return two views of each, (2m, c, h, w)."""
        self.replayed_ = self.memory_.draw(self.memory_batch)
        if len(self.replayed_) == 0:
            return self.no_views()
        return self.draw_views(self.memory_.images[self.replayed_])

    def remember(
        self,
        batch: Tensor,
        labels: Tensor | None = None,
        *,
        features: Tensor | None = None,
        columns: Mapping[str, Tensor] | None = None,
    ) -> None:
        """Add a stream batch to the memory.

        Parameters
        ----------
        batch
            Images, (n, c, h, w) uint8.
        labels
            Their classes, for a policy that sees labels.
        features
            Features of memory and batch, for the policy; the encoder's by default.
        columns
            Other values to keep with each image of the batch, (n, ...) each.
        """
        if features is None and self.memory_.wants_features(len(batch)):
            features = self.memory_features(batch)
        kept = {} if labels is None else {"labels": labels}
        self.memory_.update(batch, features, {**kept, **(columns or {})})

    def memory_features(self, batch: Tensor) -> Tensor:
        """Return the encoder's features of memory and then of the batch, (stored + n, d)."""
        images = torch.cat([self.memory_.images, batch]) if len(self.memory_) else batch
        if self.group_ is not None:
            return self.group_.divide(self._features, images)
        return self._features(images)

    def _features(self, images: Tensor) -> Tensor:
        with torch.no_grad():
            return torch.cat([self.encode_images(chunk) for chunk in torch.split(images, CHUNK)])

    def parts(self) -> dict[str, Part]:
        return {**super().parts(), "memory": self.memory_, "memory_rng": self._memory_rng}
