"""scale-plus: replay, a dictionary of patches, and a read-out fitted to the images in memory."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from scale._errors import InputError
from scale._images import resized
from scale._numbers import Range
from scale.augment import resize
from scale.losses import contrastive_loss, dot_products, stream_and_memory_twins
from scale.memory import Memory
from scale.methods.core.checks import Amount, Count, Positive, Weight, check_memory
from scale.methods.core.contrastive import ContrastiveLearner
from scale.methods.core.facts import Costs
from scale.methods.core.learner import CHUNK
from scale.methods.core.pretrained import FromPretrained
from scale.methods.core.registry import register_method
from scale.methods.core.replay import Replay
from scale.methods.core.seeds import generators
from scale.methods.core.state import Part
from scale.methods.dictionary.patch_dictionary import PatchDictionary, dictionary_bytes
from scale.methods.readout.readout import Readout, Size, readout_bytes
from scale.methods.readout.slow import BLOCK, SlowFeatures
from scale.methods.readout.start import root
from scale.models import ImageShape

LARGEST_SIDE = 32  # larger images are resized before patches are taken, to limit the cost
FEWEST_IMAGES = 16  # images in memory to fit the read-out; with fewer, use the encoder's features
REFRESHED = 32  # memory images whose features are computed again, for each update of a batch
SLOW = 8  # one in eight dimensions of an embedding is for slow features
WITNESSES = 128  # images of the stream by which the drift of embeddings is measured
EMBEDDING = "embedding"  # column of the witnesses: at the last batch
EARLY = 4  # features are at most the EARLY-th part of the batches so far old


@register_method("scale-plus")
@dataclass(kw_only=True)
class ScalePlus(FromPretrained, Replay, ContrastiveLearner):
    """Our learner: contrastive replay, patch clusters, and a read-out by discriminant analysis.

    The encoder learns as in `er`: NT-Xent over new views of stream and replayed images, every view
    an anchor, memory a reservoir. Beside it a `PatchDictionary` clusters small patches of the
    stream. It needs no gradient and is useful after the first batch.

    An embedding is half patches and half encoder, and has the encoder's dimension. Each half is the
    signed square root of features, then linear discriminant analysis with every memory image as its
    own class, scaled to a fixed length. The read-out is fitted to memory, a sample of the whole
    stream. Before 16 images are in memory, embeddings are the encoder's features.

    The read-out is kept up to date while learning, so embeddings are ready after every batch. With
    each update, features of 32 memory images are computed again, the oldest first. At the start of
    the stream there are more, because the learner changes faster.

    An encoder with pretrained weights learns more carefully, and its own features stay in the
    embeddings: see `FromPretrained`.

    Attributes
    ----------
    readout_
        Features of memory images, and the maps fitted to them.
    dictionary_
        Centroids and moments of patches; None without patches.
    slow_
        Directions in which neighbours in time are alike; None with ``time_weight=0``.
    witnesses_
        A sample of the stream, which shows how embeddings drift while the learner changes.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.random.default_rng(0).integers(0, 256, (8, 1, 28, 28), dtype=np.uint8)
    >>> learner = ScalePlus(encoder="cnn", augmentation="mnist", steps_per_batch=1)
    >>> learner.partial_fit(images).transform(images).shape
    (8, 128)
    """

    clusters: Amount = 400
    """Centroids of the patch dictionary. 0 uses no patches: embeddings come from the encoder."""
    patch_side: Count = 6
    """Side of the patches, in pixels; at most half the image's side."""
    patch_weight: Annotated[float, Range(above=0, most=1e6)] = 2.0
    """Length of the patch half of an embedding, relative to the encoder half."""
    root: bool = True
    """Take the signed square root of features before the read-out. It evens out large values."""
    readout_images: Count = 1280
    """Maximum number of memory images used to fit the read-out. Fewer need less memory."""
    readout_views: Amount = 1
    """Views of each of these images, used to fit the read-out; 0 only whitens the features."""
    ridge: Positive = 0.2
    """Ridge added to the covariance of views, as a fraction of the mean feature variance."""
    time_weight: Weight = 0.0
    """Weight of slow features, in which neighbours in the stream are alike. Try 0.3 for clusters,
    where classes or scenes come one after the other. Pretrained encoders have none."""

    patches_per_image: ClassVar[int] = 16
    epsilon: ClassVar[float] = 0.1  # added to the variances of patches before whitening

    def costs(self) -> Costs:
        costs = super().costs()
        return replace(costs, memory=f"{costs.memory}, {self.clusters} centroids of patches")

    def setup(self, image_shape: ImageShape) -> None:
        if self.memory_size < FEWEST_IMAGES:
            raise InputError(
                f"memory_size must be {FEWEST_IMAGES} or more, got {self.memory_size}: the "
                "read-out is fitted to memory images; method er needs none"
            )
        side = min(self.patch_side, *image_shape[1:])
        check_memory(self, "clusters", dictionary_bytes(self.clusters, image_shape[0], side))
        super().setup(image_shape)
        self._patch_image_side = self._side_for_patches(image_shape)
        self.dictionary_ = self._make_dictionary(image_shape) if self.clusters else None
        self._readout_rng = generators(self.seed, 5)[4]
        self.readout_ = self._make_readout()
        self.slow_ = self._make_slow()
        if self.slow_ is not None:
            self._witness_rng = generators(self.seed, 6)[5]
            self.witnesses_ = Memory(WITNESSES, "reservoir", self._witness_rng)
        if self.pretrained_:
            self.setup_care()

    def _side_for_patches(self, image_shape: ImageShape) -> int | None:
        """Return the side of images and views that patches are taken from; None keeps it."""
        shape = resized(image_shape, self.image_side)
        if max(shape[1:]) > LARGEST_SIDE:
            return LARGEST_SIDE
        # Views for the encoder may be larger than the images, which would change their patches.
        return self.image_side if self.input_side_ is None else min(shape[1:])

    def _make_dictionary(self, image_shape: ImageShape) -> PatchDictionary:
        shape = resized(image_shape, self._patch_image_side)
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
            thin=True,
        )

    def _make_readout(self) -> Readout:
        count = min(self.readout_images, self.memory_size)
        sizes = self._readout_sizes()
        needed = readout_bytes(count, self.readout_views, sizes)
        check_memory(self, "readout_views", needed)
        return Readout(count, self.readout_views, sizes, self.ridge)

    def _make_slow(self) -> SlowFeatures | None:
        keep = self.output_dim_ // SLOW if self.time_weight else 0
        if keep == 0 or self.pretrained_:
            return None
        return SlowFeatures(self.output_dim_ - keep, keep)

    def _readout_sizes(self) -> dict[str, Size]:
        if self.pretrained_:  # the memory keeps features of the start's encoder
            patches = Size(4 * self.clusters, self.clusters)
            return {} if self.dictionary_ is None else {"patches": patches}
        sizes = {}
        room = self.output_dim_ - (self.output_dim_ // SLOW if self.time_weight else 0)
        share = 0
        if self.dictionary_ is not None and room > 1:
            share = min(room // 2, 4 * self.clusters)
            sizes["patches"] = Size(4 * self.clusters, share)
        sizes["encoder"] = Size(self.output_dim_, room - share)
        return sizes

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        if self.pretrained_:
            self.update_carefully(batch, labels)
        else:
            for stream_views in self.updates(batch):
                self.step(self.losses(stream_views, self.replay_views()))
            self.remember(batch, labels)
        if self.dictionary_ is not None:  # last, because a failed batch may be given again
            self.dictionary_.learn(resize(batch, self._patch_image_side))
            if "patches" in self.readout_.sizes:
                columns = self.dictionary_.columns(self.dictionary_.reseeded)
                self.readout_.renew("patches", columns)
        self._refresh_readout(len(batch))
        if self.pretrained_:
            self.look_at_times()
        elif self.slow_ is not None and self.readout_.fitted and len(batch) >= BLOCK:
            self._learn_slow(self.slow_, batch)

    def losses(self, stream_views: Tensor, memory_views: Tensor) -> dict[str, Tensor]:
        """Return the loss of an update."""
        z = self.project(torch.cat([stream_views, memory_views]))  # (2(m+n), 128)
        positives = stream_and_memory_twins(len(stream_views) // 2, len(memory_views) // 2)
        return {"loss": contrastive_loss(dot_products(z), positives.to(z.device), self.tau)}

    def embed(self, batch: Tensor) -> Tensor:
        if self.pretrained_:
            return self.embed_carefully(batch)
        if not self.readout_.fitted:
            return self.encode_images(batch)
        joined = self._joined_parts(batch)
        if self.slow_ is None:
            return joined
        return F.normalize(torch.cat([joined, self.time_weight * self.slow_(joined)], 1))  # (n, d)

    def _joined_parts(self, batch: Tensor) -> Tensor:
        """Return the read-outs of patches and encoder side by side, of length 1."""
        of_encoder = self.readout_.map_of("encoder", self.device)
        of_patches = self.readout_.map_of("patches", self.device)
        assert of_encoder is not None
        learned = F.normalize(of_encoder(self._encoder_features(batch)))
        if of_patches is None:
            return learned
        patches = F.normalize(of_patches(self._patch_features(batch)))
        return F.normalize(torch.cat([self.patch_weight * patches, learned], 1))

    def _learn_slow(self, slow: SlowFeatures, batch: Tensor) -> None:
        """Learn the slow features from a batch, after its updates."""
        witnesses, drift = self.witnesses_, None
        if len(witnesses):
            found = self._joined_in_chunks(witnesses.images)
            drift = (found - witnesses.columns[EMBEDDING]).mean(0)
            witnesses.columns[EMBEDDING] = found
        embeddings = self._joined_in_chunks(batch)
        slow.learn(embeddings, drift)
        witnesses.update(batch, None, {EMBEDDING: embeddings})
        self.diagnostics_["slow"] = float(slow.strength)

    def _joined_in_chunks(self, images: Tensor) -> Tensor:
        """Return `_joined_parts` of images on the CPU, (n, d)."""
        with torch.no_grad():
            return torch.cat([self._joined_parts(x).cpu() for x in torch.split(images, CHUNK)])

    def _refresh_readout(self, n: int) -> None:
        """Compute features of some memory images again, after a batch of n."""
        rows = len(self.memory_)
        if rows < FEWEST_IMAGES or not self.readout_.sizes:
            return
        # Early, the learner changes in proportion to what it has seen.
        early = EARLY * rows // (self.step_ + 1)
        budget = max(n, early, REFRESHED * self.steps_per_batch)
        with torch.no_grad():
            self.readout_.refresh(self.memory_.arrivals, budget, self._readout_features)

    def _readout_features(self, indices: Tensor) -> dict[str, Tensor]:
        """Return features of memory images and of views of them, (n, 1 + views, d) each."""
        kinds = {"patches": self._patch_features, "encoder": self._encoder_features}
        found: dict[str, list[Tensor]] = {name: [] for name in self.readout_.sizes}
        for part in torch.split(self.memory_.images[indices], CHUNK):
            images = part.to(self.device)
            views = [
                self.augmentation_(images, self._readout_rng) for _ in range(self.readout_views)
            ]
            for name, features in found.items():
                features.append(torch.stack([kinds[name](x) for x in (images, *views)], 1))
        return {name: torch.cat(features) for name, features in found.items()}

    def _patch_features(self, batch: Tensor) -> Tensor:
        assert self.dictionary_ is not None
        pixels = resize(batch.to(self.device), self._patch_image_side)
        return self._root(self.dictionary_.activations(pixels))  # (n, 4K)

    def _encoder_features(self, batch: Tensor) -> Tensor:
        return self._root(self.encode_images(batch))  # (n, d)

    def _root(self, features: Tensor) -> Tensor:
        return root(features) if self.root else features

    def parts(self) -> dict[str, Part]:
        parts = super().parts()
        parts |= {"readout": self.readout_, "readout_rng": self._readout_rng}
        if self.pretrained_:
            parts |= self.care_parts()
        if self.slow_ is not None:
            parts |= {"slow": self.slow_, "witnesses": self.witnesses_}
            parts["witness_rng"] = self._witness_rng
        if self.dictionary_ is not None:
            parts |= {"dictionary": self.dictionary_, "patch_rng": self.dictionary_.generator}
        return parts
