"""STAM: online clustering of patches, without gradients."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from scale._errors import InputError
from scale._images import resized
from scale.augment import resize
from scale.methods.core.checks import check_numbers
from scale.methods.core.facts import Costs
from scale.methods.core.learner import Learner
from scale.methods.core.registry import register_method
from scale.methods.core.state import Part
from scale.methods.dictionary.patches import patches_of
from scale.methods.dictionary.stam_layer import PatchLayer
from scale.models import ImageShape

EMBEDDED = 16  # images whose patches are held at once


@register_method("stam")
@dataclass(kw_only=True)
class STAM(Learner):
    """The distance from each long-term patch centroid to the image's nearest patch.

    Each layer clusters the patches of one size, normalised to mean 0 and variance 1. A patch
    chooses the nearest of the layer's short- and long-term centroids. A short-term centroid moves
    by alpha to the nearest patch of the image that chose it. Patches further away than the
    percentile of recent distances become short-term centroids, in place of those not chosen for
    the longest time; the patch counts as the first choice. A short-term centroid that `theta`
    images chose moves to long-term memory and is frozen there.

    Short-term memory starts with ten random patches of each of the first images; until it is full
    nothing else is learned. The features of an image are in units of the mean distance of its
    patches to the layer's centroids; there are as many as long-term centroids, so their number
    changes. A layer that has none yet uses its short-term ones, and before the first image the
    only feature is constant.

    With ``chunk=1`` images are learned from one after the other, as in the original; the patches
    of an image are always taken at once. With more, all images of a chunk choose among the
    centroids from before it; the steps of a centroid are those it would make one after the other,
    novel patches near one of an earlier image of the chunk are passed over, and long-term memory is
    filled at the end of the chunk.

    The original's long-term memory has no limit. Here it becomes a reservoir when it is full:
    every centroid that `theta` images ever chose has the same chance to be in it.

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

    receptive_fields: list[int] = field(default_factory=lambda: [12, 18, 22])
    """Side of the patches of each layer."""
    stride: int = 2
    """Pixels from one patch to the next."""
    image_side: int | None = None
    """Side that images are resized to; by default they keep their size."""
    delta: int = 2500
    """Maximum number of short-term centroids of a layer (the paper's Delta)."""
    long_term_size: int = 1000
    """Maximum number of long-term centroids of a layer; a reservoir once it is full."""
    theta: int = 30
    """Images that must choose a centroid before it moves to long-term memory."""
    alpha: float = 0.1
    """Step of a chosen short-term centroid towards the patch."""
    percentile: float = 95.0
    """Percentile of recent distances; patches further than it from all centroids are novel."""
    window: int = 1000
    """Number of recent distances; each image adds ten."""
    chunk: int = 1
    """Images learned at once. 1 is the original; more are faster."""

    def costs(self) -> Costs:
        sides = ", ".join(str(side) for side in self.receptive_fields)
        return Costs(
            memory=f"{self.delta} short- and up to {self.long_term_size} long-term centroids "
            f"of patches of each side ({sides})"
        )

    def setup(self, image_shape: ImageShape) -> None:
        channels, height, width = resized(image_shape, self.image_side)
        self._check_params(min(height, width))
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

    def _check_params(self, image_side: int) -> None:
        if not self.receptive_fields:
            raise InputError("receptive_fields must name a side for each layer, got none")
        if not all(1 < side <= image_side for side in self.receptive_fields):
            raise InputError(
                f"receptive_fields must be from 2 to {image_side}, the side of the images, got "
                f"{list(self.receptive_fields)}; use smaller ones, or enlarge images by image_side"
            )
        counts = ("stride", "long_term_size", "theta", "window", "chunk")
        check_numbers(self, *counts, least=1, whole=True)
        check_numbers(self, "delta", least=2, whole=True)
        check_numbers(self, "alpha", least=0, most=1)
        check_numbers(self, "percentile", least=0, most=100)

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
