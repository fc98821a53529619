"""scale-plus: replay beside a dictionary of patches, read out through what is in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from scale._errors import InputError
from scale._images import resized
from scale.augment import resize
from scale.methods._base import CHUNK
from scale.methods._checks import check_numbers
from scale.methods._dictionary import PatchDictionary
from scale.methods._facts import Costs
from scale.methods._registry import register_method
from scale.methods._seeds import generators
from scale.methods._state import Part, State
from scale.methods._whitening import Whitening, contrast_whitening
from scale.methods.er import ER
from scale.models import ImageShape

LARGEST_SIDE = 32  # images are brought to it before patches are taken: patches of many are dear
FEWEST_IMAGES = 16  # in memory, to whiten by: with fewer, features tell less than the encoder's own


@register_method("scale-plus")
@dataclass(kw_only=True)
class ScalePlus(ER):
    """Our learner: replay of SCALE's kind without what did not help, and clusters of patches.

    The encoder learns as in `er`: NT-Xent over new views of stream and replayed images, every view
    an anchor, replayed from a reservoir. Beside it a `PatchDictionary` clusters small patches of
    the stream; it needs no gradient, is of use after the first batch, and keeps what it has found.

    Features are half the patches' and half the encoder's, together as many as the encoder has. Each
    half is brought to its square root, turned to directions in which the images in memory differ
    more than views of one image do, and given a fixed length. It is memory that tells them, so that
    features depend on the whole stream and not on its last batch. Until 16 images are in memory,
    features are the encoder's.

    Attributes
    ----------
    dictionary_
        The centroids, and what is known of patches; None without patches.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.random.default_rng(0).integers(0, 256, (8, 1, 28, 28), dtype=np.uint8)
    >>> learner = ScalePlus(encoder="cnn", augmentation="mnist", steps_per_batch=1)
    >>> learner.partial_fit(images).transform(images).shape
    (8, 128)
    """

    clusters: int = 400
    """Centroids of the dictionary; 0: no patches, all features are the encoder's."""
    patch_side: int = 6
    """Side of the patches; half of the image's side when that is less."""
    patch_weight: float = 2.0
    """Length of the patches' half of the features; that of the encoder's half is 1."""
    root: bool = True
    """Take the square root of features first."""
    readout_images: int = 1280
    """Most images of memory that tell directions of features; fewer make embeddings cheaper."""
    readout_views: int = 1
    """Views of each of them; 0: features are whitened, whatever views do to them."""
    ridge: float = 0.2
    """Counted to what views do in every direction, relative to the mean variance of features."""

    patches_per_image: ClassVar[int] = 16
    epsilon: ClassVar[float] = 0.1  # added to the variances of patches when they are whitened

    def costs(self) -> Costs:
        costs = super().costs()
        return replace(costs, memory=f"{costs.memory}, {self.clusters} centroids of patches")

    def _start(self, image_shape: ImageShape) -> None:
        check_numbers(self, "clusters", "memory_size", "readout_views", least=0, whole=True)
        check_numbers(self, "readout_images", "patch_side", least=1, whole=True)
        check_numbers(self, "patch_weight", "ridge", above=0)
        if self.memory_size < FEWEST_IMAGES:
            raise InputError(
                f"memory_size must be {FEWEST_IMAGES} or more, got {self.memory_size}: images in "
                "memory whiten the features; method er does without"
            )
        super()._start(image_shape)
        self._patch_rng = generators(self.seed, 4)[3]
        large = max(self._view_shape[1:]) > LARGEST_SIDE
        self._patch_image_side = LARGEST_SIDE if large else self.augmentation_.size
        self.dictionary_ = self._make_dictionary() if self.clusters else None
        self._readout: tuple[Whitening | None, Whitening] | None = None  # made when asked for

    def _make_dictionary(self) -> PatchDictionary:
        shape = resized(self._view_shape, self._patch_image_side)
        side = min(shape[1:]) // 2
        if side < 1:
            raise InputError(
                f"images of {shape[1]} x {shape[2]} are too small for patches; set clusters=0"
            )
        return PatchDictionary(
            shape,
            clusters=self.clusters,
            patch_side=min(self.patch_side, side),
            patches_per_image=self.patches_per_image,
            epsilon=self.epsilon,
            generator=self._patch_rng,
        )

    def _learn(self, batch: Tensor, labels: Tensor | None) -> None:
        self._readout = None
        super()._learn(batch, labels)
        if self.dictionary_ is not None:  # after what may fail: the batch may come again
            self.dictionary_.learn(resize(batch, self._patch_image_side))

    def _embed(self, batch: Tensor) -> Tensor:
        if len(self.memory_) < FEWEST_IMAGES:
            return self._encode(batch)
        if self._readout is None:
            self._readout = self._fit_readout()
        of_patches, of_encoder = self._readout
        learned = F.normalize(of_encoder(self._features(batch)))
        if of_patches is None:
            return learned
        patches = F.normalize(of_patches(self._activations(batch)))
        return F.normalize(torch.cat([self.patch_weight * patches, learned], 1))  # (n, d)

    def _fit_readout(self) -> tuple[Whitening | None, Whitening]:
        """Return how patches and encoder are turned, so that both have half of the features."""
        count = min(self.readout_images, len(self.memory_))
        # Spread over memory, in which images may stand in the order of their arrival.
        chosen = torch.arange(count) * len(self.memory_) // count
        images = self.memory_.images[chosen]
        of_patches, share = None, 0
        if self.dictionary_ is not None and self.output_dim_ > 1:
            share = min(self.output_dim_ // 2, 4 * self.clusters)
            of_patches = self._turned(self._activations, images, share)
        return of_patches, self._turned(self._features, images, self.output_dim_ - share)

    def _turned(self, features: Callable[[Tensor], Tensor], images: Tensor, keep: int) -> Whitening:
        """Return the directions in which features of images differ more than those of views do."""
        parts = torch.split(images.to(self.device), CHUNK)
        rng = generators(self.seed, 5)[4]  # the same views whenever one asks
        sample = torch.cat([features(part) for part in parts])
        views = [
            torch.cat([features(self.augmentation_(part, rng)) for part in parts])
            for _ in range(self.readout_views)
        ]
        return contrast_whitening(sample, views, self.ridge, keep)

    def _activations(self, batch: Tensor) -> Tensor:
        assert self.dictionary_ is not None
        pixels = resize(batch.to(self.device), self._patch_image_side)
        return self._rooted(self.dictionary_.activations(pixels))  # (n, 4K)

    def _features(self, batch: Tensor) -> Tensor:
        return self._rooted(self._encode(batch))  # (n, d)

    def _rooted(self, features: Tensor) -> Tensor:
        if not self.root:
            return features
        return features.sign() * features.abs().sqrt()  # an encoder of the user's may go below 0

    def _parts(self) -> dict[str, Part]:
        parts = super()._parts()
        if self.dictionary_ is not None:
            parts |= {"dictionary": self.dictionary_, "patch_rng": self._patch_rng}
        return parts

    def load_state_dict(self, state: State) -> None:
        super().load_state_dict(state)
        self._readout = None
