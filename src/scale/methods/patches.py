"""Clusters of small patches, learned online without gradients: the hardest floor to beat."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from scale._images import resized
from scale.augment import resize
from scale.memory import Memory
from scale.methods.core.checks import Amount, Count, Positive, check_memory
from scale.methods.core.facts import Costs
from scale.methods.core.learner import Learner
from scale.methods.core.registry import register_method
from scale.methods.core.seeds import generators
from scale.methods.core.state import Part, State
from scale.methods.dictionary.patch_dictionary import PatchDictionary, dictionary_bytes
from scale.methods.readout.whitening import Whitening, whitening
from scale.models import ImageShape

RIDGE = 0.1  # added to the features' covariance, relative to their mean variance


@register_method("patches")
@dataclass(kw_only=True)
class Patches(Learner):
    """Mean activation of each patch centroid in each quadrant of the image, whitened.

    A `PatchDictionary` clusters the patches of the stream. A patch at distances z from the
    centroids activates centroid k by max(0, mean(z) - z_k). Activations are averaged over the four
    quadrants.

    Features are whitened by their covariance over a random sample of the stream. The sample is kept
    as images, because features change while the centroids move.

    Attributes
    ----------
    dictionary_
        Centroids and moments of patches.
    memory_
        The sample of the stream.
    diagnostics_
        Of the last batch: mean distance of a patch to its centroid, and reseeded centroids.

    References
    ----------
    Coates, Lee and Ng (2011), An Analysis of Single-Layer Networks in Unsupervised Feature
    Learning, AISTATS.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.random.default_rng(0).integers(0, 256, (5, 3, 16, 16), dtype=np.uint8)
    >>> Patches(clusters=10).partial_fit(images).transform(images).shape
    (5, 40)
    """

    clusters: Count = 400
    """Number of centroids (K); each adds four features."""
    patch_side: Count = 6
    """Side of the patches, in pixels; it must be below the image's side."""
    patches_per_image: Count = 16
    """Patches drawn from each stream image for clustering."""
    epsilon: Positive = 0.1
    """Added to the variances of patches before whitening. Raise it for noisy images."""
    normalise: bool = True
    """Whiten the features and scale them to length 1."""
    memory_size: Amount = 1280
    """Maximum number of stream images kept to fit the whitening."""
    image_side: Count | None = None
    """Side that images are resized to; by default they keep their size."""

    def costs(self) -> Costs:
        return Costs(memory=f"{self.clusters} centroids and {self.memory_size} images")

    def setup(self, image_shape: ImageShape) -> None:
        channels, side = image_shape[0], min(self.patch_side, *image_shape[1:])
        check_memory(self, "memory_size", self.memory_size * math.prod(image_shape))
        check_memory(self, "clusters", dictionary_bytes(self.clusters, channels, side))
        check_memory(self, "patches_per_image", 8 * self.patches_per_image * channels * side**2)
        self._rng, self._memory_rng = generators(self.seed, 2)
        self.dictionary_ = PatchDictionary(
            resized(image_shape, self.image_side),
            clusters=self.clusters,
            patch_side=self.patch_side,
            patches_per_image=self.patches_per_image,
            epsilon=self.epsilon,
            generator=self._rng,
        )
        self.memory_: Memory = Memory(self.memory_size, "reservoir", self._memory_rng)
        self._whitening: Whitening | None = None  # of features; fitted on demand

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        self.diagnostics_ = self.dictionary_.learn(resize(batch, self.image_side))
        self.memory_.update(batch)
        self._whitening = None

    def embed(self, batch: Tensor) -> Tensor:
        features = self._activations(batch)
        if not self.normalise:
            return features  # (n, 4K)
        if self._whitening is None and len(self.memory_):
            self._whitening = whitening(self._activations(self.memory_.images), RIDGE)
        if self._whitening is not None:
            features = self._whitening(features)
        return F.normalize(features)

    def _activations(self, batch: Tensor) -> Tensor:
        pixels = resize(batch, self.image_side).to(self.device)
        return self.dictionary_.activations(pixels)  # (n, 4K)

    def parts(self) -> dict[str, Part]:
        return {
            "dictionary": self.dictionary_,
            "memory": self.memory_,
            "rng": self._rng,
            "memory_rng": self._memory_rng,
        }

    def load_state_dict(self, state: State) -> None:
        super().load_state_dict(state)
        self._whitening = None
