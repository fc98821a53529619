"""STAM: online clustering of patches, without gradients."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import torch
from torch import Tensor, nn

from scale._errors import InputError
from scale._images import resized
from scale._numbers import Range
from scale.augment import resize
from scale.methods.core.checks import Count, Fraction, check_memory
from scale.methods.core.facts import Costs
from scale.methods.core.learner import Learner
from scale.methods.core.registry import register_method
from scale.methods.core.state import Part
from scale.methods.dictionary.patches import patches_of
from scale.methods.dictionary.stam_layer import PatchLayer
from scale.models import ImageShape

EMBEDDED = 16  # images embedded at once, to limit memory


@register_method("stam")
@dataclass(kw_only=True)
class STAM(Learner):
    """The distance from each long-term patch centroid to the image's nearest patch.

    Each layer clusters the patches of one size, normalised to mean 0 and variance 1. A patch
    chooses the nearest of the layer's short- and long-term centroids. A short-term centroid moves
    by alpha to the nearest patch of the image that chose it. A patch further away than the
    percentile of recent distances is novel: it replaces the short-term centroid chosen least
    recently. A short-term centroid that `theta` images chose moves to long-term memory and is
    frozen there.

    First, ten random patches of each image fill the short-term memory. An image has one feature for
    each long-term centroid, in units of the mean distance of its patches to the layer's centroids.
    So the number of features changes. A layer without long-term centroids uses its short-term ones.
    Before the first image there is one constant feature.

    With ``chunk=1``, it learns from one image at a time, as in the original. With more, all images
    of a chunk choose among the centroids before it. The steps of a centroid are those of one image
    at a time. Novel patches near those of an earlier image of the chunk are ignored. Centroids move
    to long-term memory at the end of the chunk.

    The original's long-term memory has no limit. Here a full one is a reservoir: all centroids so
    far are in it with equal chance.

    Attributes
    ----------
    layers_
        Memories of each layer: see `PatchLayer`.
    diagnostics_
        Centroids in short- and in long-term memory, over all layers.

    References
    ----------
    Smith, Taylor, Baer and Dovrolis (2021), Unsupervised Progressive Learning and the STAM
    Architecture, IJCAI.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.random.default_rng(0).integers(0, 256, (5, 3, 16, 16), dtype=np.uint8)
    >>> stam = STAM(receptive_fields=[6, 8]).partial_fit(images)
    >>> stam.transform(images).shape, stam.diagnostics_
    ((5, 100), {'short_term': 100, 'long_term': 0})
    """

    receptive_fields: list[Count] = field(default_factory=lambda: [12, 18, 22])
    """Side of the patches of each layer, in pixels. Use smaller ones for smaller images."""
    stride: Count = 2
    """Pixels from one patch to the next; larger is faster."""
    image_side: Count | None = None
    """Side that images are resized to; by default they keep their size."""
    delta: Annotated[int, Range(least=2)] = 2500
    """Maximum number of short-term centroids of a layer (the paper's Delta)."""
    long_term_size: Count = 1000
    """Maximum number of long-term centroids of a layer, beyond which it is a reservoir."""
    theta: Count = 30
    """Images that must choose a centroid before it moves to long-term memory."""
    alpha: Fraction = 0.1
    """Step of a chosen short-term centroid towards the patch."""
    percentile: Annotated[float, Range(least=0, most=100)] = 95.0
    """Percentile of recent distances; patches further than it from all centroids are novel."""
    window: Count = 1000
    """Number of recent distances; each image adds ten."""
    chunk: Count = 1
    """Images learned at once. 1 is the original; more is faster."""

    def costs(self) -> Costs:
        sides = ", ".join(str(side) for side in self.receptive_fields)
        return Costs(
            memory=f"{self.delta} short- and up to {self.long_term_size} long-term centroids "
            f"of patches of each side ({sides})"
        )

    def setup(self, image_shape: ImageShape) -> None:
        channels, height, width = resized(image_shape, self.image_side)
        self._check_fields(min(height, width))
        for name in ("delta", "long_term_size"):
            pixels = sum(channels * side * side for side in self.receptive_fields)
            check_memory(self, name, 4 * getattr(self, name) * pixels)
        check_memory(self, "window", 4 * self.window * len(self.receptive_fields))
        self._rng = torch.Generator().manual_seed(self.seed)
        self.layers_ = nn.ModuleList(
            PatchLayer(
                channels * side * side,
                delta=self.delta,
                limit=self.long_term_size,
                theta=self.theta,
                alpha=self.alpha,
                percentile=self.percentile,
                window=self.window,
            )
            for side in self.receptive_fields
        ).to(self.device)

    def _check_fields(self, image_side: int) -> None:
        if not self.receptive_fields:
            raise InputError("receptive_fields must name a side for each layer, got none")
        if not all(1 < side <= image_side for side in self.receptive_fields):
            raise InputError(
                f"receptive_fields must be from 2 to {image_side}, the side of the images, got "
                f"{list(self.receptive_fields)}; use smaller ones, or enlarge images by image_side"
            )

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        pixels = resize(batch.to(self.device), self.image_side)
        for images in torch.split(pixels, self.chunk):
            for side, layer in self._layers():
                layer.learn(patches_of(images, side, self.stride), self._rng)
        self.diagnostics_ = {
            "short_term": sum(len(layer.short_term) for _, layer in self._layers()),
            "long_term": sum(len(layer.long_term) for _, layer in self._layers()),
        }

    def embed(self, batch: Tensor) -> Tensor:
        pixels = resize(batch.to(self.device), self.image_side)
        layers = [
            torch.cat(
                [
                    layer.embed(patches_of(images, side, self.stride))
                    for images in torch.split(pixels, EMBEDDED)
                ]
            )
            for side, layer in self._layers()
        ]
        features = torch.cat(layers, 1)  # (n, centroids of all layers)
        return features if features.shape[1] else features.new_ones(len(batch), 1)

    def _layers(self) -> list[tuple[int, PatchLayer]]:
        layers = [layer for layer in self.layers_ if isinstance(layer, PatchLayer)]
        return list(zip(self.receptive_fields, layers, strict=True))

    def parts(self) -> dict[str, Part]:
        return {"layers": self.layers_, "rng": self._rng}
