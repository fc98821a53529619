"""scale-plus: replay, a dictionary of patches, and a read-out fitted to the images in memory."""

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
from scale.losses import contrastive_loss, dot_products, stream_and_memory_twins
from scale.methods.core.checks import check_numbers
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.facts import Costs
from scale.methods.core.learner import CHUNK
from scale.methods.core.registry import register_method
from scale.methods.core.replay import Replay
from scale.methods.core.seeds import generators
from scale.methods.core.state import Part, State
from scale.methods.dictionary.patch_dictionary import PatchDictionary
from scale.methods.readout.whitening import Whitening, contrast_whitening
from scale.models import ImageShape

LARGEST_SIDE = 32  # larger images are resized before patches are taken, to limit the cost
FEWEST_IMAGES = 16  # images in memory to fit the read-out; with fewer, use the encoder's features


@register_method("scale-plus")
@dataclass(kw_only=True)
class ScalePlus(Replay, ContrastiveLearner):
    """Our learner: contrastive replay, patch clusters, and a read-out by discriminant analysis.

    The encoder learns as in `er`: NT-Xent over new views of stream and replayed images, every view
    an anchor, memory a reservoir. Beside it a `PatchDictionary` clusters small patches of the
    stream. It needs no gradient and is useful after the first batch.

    An embedding is half patches and half encoder, and has the encoder's dimension. Each half is the
    signed square root of features, then linear discriminant analysis with every memory image as its
    own class, scaled to a fixed length. The read-out is fitted to memory, a sample of the whole
    stream. Before 16 images are in memory, embeddings are the encoder's features.

    Attributes
    ----------
    dictionary_
        Centroids and moments of patches; None without patches.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.random.default_rng(0).integers(0, 256, (8, 1, 28, 28), dtype=np.uint8)
    >>> learner = ScalePlus(encoder="cnn", augmentation="mnist", steps_per_batch=1)
    >>> learner.partial_fit(images).transform(images).shape
    (8, 128)
    """

    clusters: int = 400
    """Centroids of the patch dictionary. 0 uses no patches: embeddings come from the encoder."""
    patch_side: int = 6
    """Side of the patches, in pixels; at most half the image's side."""
    patch_weight: float = 2.0
    """Length of the patch half of an embedding, relative to the encoder half."""
    root: bool = True
    """Take the signed square root of features before the read-out. It evens out large values."""
    readout_images: int = 1280
    """Maximum number of memory images used to fit the read-out. Lower it if you embed after every
    batch."""
    readout_views: int = 1
    """Views of each of these images, used to fit the read-out; 0 only whitens the features."""
    ridge: float = 0.2
    """Ridge added to the covariance of views, as a fraction of the mean feature variance."""

    patches_per_image: ClassVar[int] = 16
    epsilon: ClassVar[float] = 0.1  # added to the variances of patches before whitening

    def costs(self) -> Costs:
        costs = super().costs()
        return replace(costs, memory=f"{costs.memory}, {self.clusters} centroids of patches")

    def setup(self, image_shape: ImageShape) -> None:
        check_numbers(self, "clusters", "memory_size", "readout_views", least=0, whole=True)
        check_numbers(self, "readout_images", "patch_side", least=1, whole=True)
        check_numbers(self, "patch_weight", "ridge", above=0)
        if self.memory_size < FEWEST_IMAGES:
            raise InputError(
                f"memory_size must be {FEWEST_IMAGES} or more, got {self.memory_size}: the "
                "read-out is fitted to memory images; method er needs none"
            )
        super().setup(image_shape)
        large = max(self.view_shape_[1:]) > LARGEST_SIDE
        self._patch_image_side = LARGEST_SIDE if large else self.augmentation_.size
        self.dictionary_ = self._make_dictionary() if self.clusters else None
        self._readout: tuple[Whitening | None, Whitening] | None = None  # fitted on demand

    def _make_dictionary(self) -> PatchDictionary:
        shape = resized(self.view_shape_, self._patch_image_side)
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
            generator=generators(self.seed, 4)[3],
        )

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        self._readout = None
        for stream_views in self.updates(batch):
            self.step(self.losses(stream_views, self.replay_views()))
        self.remember(batch, labels)
        if self.dictionary_ is not None:  # last, because a failed batch may be given again
            self.dictionary_.learn(resize(batch, self._patch_image_side))

    def losses(self, stream_views: Tensor, memory_views: Tensor) -> dict[str, Tensor]:
        """Return the loss of an update."""
        z = self.project(torch.cat([stream_views, memory_views]))  # (2(m+n), 128)
        positives = stream_and_memory_twins(len(stream_views) // 2, len(memory_views) // 2)
        return {"loss": contrastive_loss(dot_products(z), positives.to(z.device), self.tau)}

    def embed(self, batch: Tensor) -> Tensor:
        if len(self.memory_) < FEWEST_IMAGES:
            return self.encode_images(batch)
        if self._readout is None:
            self._readout = self._fit_readout()
        of_patches, of_encoder = self._readout
        learned = F.normalize(of_encoder(self._encoder_features(batch)))
        if of_patches is None:
            return learned
        patches = F.normalize(of_patches(self._patch_features(batch)))
        return F.normalize(torch.cat([self.patch_weight * patches, learned], 1))  # (n, d)

    def _fit_readout(self) -> tuple[Whitening | None, Whitening]:
        """Fit the two halves of the read-out to the images in memory."""
        count = min(self.readout_images, len(self.memory_))
        # Evenly spaced, because the memory may be in the order of the stream.
        chosen = torch.arange(count) * len(self.memory_) // count
        images = self.memory_.images[chosen]
        of_patches, share = None, 0
        if self.dictionary_ is not None and self.output_dim_ > 1:
            share = min(self.output_dim_ // 2, 4 * self.clusters)
            of_patches = self._fit_half(self._patch_features, images, share)
        keep = self.output_dim_ - share
        return of_patches, self._fit_half(self._encoder_features, images, keep)

    def _fit_half(
        self, features: Callable[[Tensor], Tensor], images: Tensor, keep: int
    ) -> Whitening:
        """Return the read-out of one half: images differ along it, views of one image little."""
        parts = torch.split(images.to(self.device), CHUNK)
        rng = generators(self.seed, 5)[4]  # the same views in every call
        sample = torch.cat([features(part) for part in parts])
        views = [
            torch.cat([features(self.augmentation_(part, rng)) for part in parts])
            for _ in range(self.readout_views)
        ]
        return contrast_whitening(sample, views, self.ridge, keep)

    def _patch_features(self, batch: Tensor) -> Tensor:
        assert self.dictionary_ is not None
        pixels = resize(batch.to(self.device), self._patch_image_side)
        return self._root(self.dictionary_.activations(pixels))  # (n, 4K)

    def _encoder_features(self, batch: Tensor) -> Tensor:
        return self._root(self.encode_images(batch))  # (n, d)

    def _root(self, features: Tensor) -> Tensor:
        if not self.root:
            return features
        return features.sign() * features.abs().sqrt()  # a user's encoder may return negatives

    def parts(self) -> dict[str, Part]:
        parts = super().parts()
        if self.dictionary_ is not None:
            parts |= {"dictionary": self.dictionary_, "patch_rng": self.dictionary_.generator}
        return parts

    def load_state_dict(self, state: State) -> None:
        super().load_state_dict(state)
        self._readout = None
