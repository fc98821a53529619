"""Clusters of small patches, learned online without gradients: a floor that is hard to beat."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from scale._images import resized
from scale.augment import resize
from scale.memory import Memory
from scale.methods._base import Learner
from scale.methods._checks import check_numbers
from scale.methods._dictionary import PatchDictionary
from scale.methods._facts import Costs
from scale.methods._registry import register_method
from scale.methods._seeds import generators
from scale.methods._state import Part, State, flatten, unflatten
from scale.methods._whitening import Whitening, whitening
from scale.models import ImageShape

RIDGE = 0.1  # added to the features' covariance, relative to their mean variance


@register_method("patches")
@dataclass(kw_only=True)
class Patches(Learner):
    """Gives, for each quadrant of an image, how near its patches come to each centroid.

    A `PatchDictionary` clusters the patches of the stream. A patch at distances z of the centroids
    activates centroid k by max(0, mean(z) - z_k), and activations are averaged over the four
    quadrants.

    Features are whitened by the covariance that those of a random sample of the stream have. The
    sample is kept as images, because its features change while the centroids move; a covariance
    summed up along the stream is worth less.

    Attributes
    ----------
    dictionary_
        The centroids, and what is known of patches.
    memory_
        The sample of the stream.
    diagnostics_
        Of the last batch: mean distance of a patch to its centroid, and centroids put elsewhere.

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

    clusters: int = 400
    """Centroids (K); there are four features for each."""
    patch_side: int = 6
    """Side of the patches."""
    patches_per_image: int = 16
    """Patches drawn of each stream image to cluster."""
    epsilon: float = 0.1
    """Added to the variances of patches when they are whitened."""
    normalise: bool = True
    """Whiten the features too, and give them length 1."""
    memory_size: int = 1280
    """Most images in the sample by which features are whitened."""
    image_side: int | None = None
    """Side that images are brought to; as they come when not given."""

    def costs(self) -> Costs:
        return Costs(memory=f"{self.clusters} centroids and {self.memory_size} images")

    def _start(self, image_shape: ImageShape) -> None:
        check_numbers(self, "clusters", "patch_side", "patches_per_image", least=1, whole=True)
        check_numbers(self, "epsilon", above=0)
        check_numbers(self, "memory_size", least=0, whole=True)
        self._rng, self._memory_rng = generators(self.seed, 2)
        self.dictionary_ = PatchDictionary(
            resized(image_shape, self.image_side),
            clusters=self.clusters,
            patch_side=self.patch_side,
            patches_per_image=self.patches_per_image,
            epsilon=self.epsilon,
            generator=self._rng,
        )
        self.memory_ = Memory(self.memory_size, "reservoir", self._memory_rng)
        self._whitening: Whitening | None = None  # of features; made when asked for
        self.diagnostics_: dict[str, float] = {}

    def _learn(self, batch: Tensor, labels: Tensor | None) -> None:
        self.diagnostics_ = self.dictionary_.learn(resize(batch, self.image_side))
        self.memory_.update(batch)
        self._whitening = None

    def _embed(self, batch: Tensor) -> Tensor:
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

    def _parts(self) -> dict[str, Part]:
        return {
            "dictionary": self.dictionary_,
            "memory": self.memory_,
            "rng": self._rng,
            "memory_rng": self._memory_rng,
        }

    def state_dict(self) -> State:
        return flatten(self._parts())

    def load_state_dict(self, state: State) -> None:
        unflatten(self._parts(), state)
        self._whitening = None
