"""KIERA: a stack of autoencoders that grows in width and depth, with centroids in each layer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scale._images import resized
from scale.augment import resize
from scale.memory.offered import OfferedMemory
from scale.methods.core.checks import Amount, Count, Fraction, Weight, check_memory
from scale.methods.core.facts import Costs
from scale.methods.core.learner import Learner
from scale.methods.core.registry import register_method
from scale.methods.core.ring import Ring
from scale.methods.core.seeds import generators
from scale.methods.core.state import Part
from scale.methods.core.updates import descend
from scale.methods.growing.centroids import Centroids
from scale.methods.growing.conv import ConvAutoencoder
from scale.methods.growing.drift import drifts
from scale.methods.growing.layer import GrowingLayer
from scale.models import ImageShape, default_rng

FIRST_UNITS = 96  # of the first layer; each later one has half of the one before
LEAST_UNITS = 10
FIRST_CENTROIDS = 10
FIRST_STEPS = 5  # times steps_per_batch, on the first batch
COMPARED = 256  # images of a batch that the test for drift compares


@register_method("kiera")
@dataclass(kw_only=True)
class KIERA(Learner):
    """Codes of a stack of autoencoders that grows by itself; centroids choose what is replayed.

    A small convolutional autoencoder comes first, then layers with tied weights, trained greedily.
    A layer gets a unit when its error on the mean input rises, and loses one when its variance
    does. Drift between two batches adds a layer. Centroids in each layer pull codes together. A
    code far from all centroids opens one, and its image is offered to memory. Images in memory that
    centroids cover badly are replayed. Features are the codes of all layers, each divided by its
    mean length; inactive units are 0.

    Read in the released code: networks, growth, drift, centroids, replay. There, labels only name
    clusters after learning, though the paper's Table 1 in SCALE lists class labels; task changes
    and the number of classes are told. Ours: images are offered to memory after each batch, in a
    reservoir; width has a constant lower bound; an update takes the whole batch instead of 16
    images; the first batch gets five times the updates instead of 50 epochs on labelled images; a
    drift warning does nothing, and 256 images of each batch are compared; one convolutional
    network, that for CIFAR, serves all images; all growth has limits. The code's clustering loss
    takes the farthest centroid; this takes the nearest, which is surely meant.

    Attributes
    ----------
    conv_, layers_, centroids_
        The networks, and the centroids of each layer.
    depth_
        Layers in use.
    memory_
        Images that opened centroids.
    diagnostics_
        Losses, and the numbers of ``layers``, ``units``, ``centroids`` and ``replayed`` images.

    References
    ----------
    Pratama, Ashfahani and Lughofer (2021), Unsupervised Continual Learning via Self-Adaptive Deep
    Clustering Approach, CSSL at IJCAI.
    """

    image_side: Count | None = None
    """Side that images are resized to; by default they keep their size."""
    steps_per_batch: Count = 20
    """Updates of each network for each stream batch."""
    lr: Weight = 0.01
    """Learning rate of SGD. Lower it if the loss becomes NaN."""
    momentum: Fraction = 0.95
    """Momentum of SGD, for the convolutions; the released code has none in the layers."""
    weight_decay: Weight = 5e-5
    """Weight decay of SGD."""
    clusters_weight: Weight = 0.005
    """Weight of the distance of codes to their centroids; 0 gives a plain stack."""
    memory_size: Amount = 1280
    """Maximum number of images in memory."""
    max_width: Count = 256
    """Maximum number of units of a layer."""
    max_layers: Count = 4
    """Maximum number of layers."""
    max_centroids: Count = 4000
    """Maximum number of centroids of a layer."""
    chunk: Count = 64
    """Codes that choose a centroid, or change the width, at once. 1 is the original; more is
    faster."""

    def costs(self) -> Costs:
        memory = (
            f"{self.memory_size} images, up to {self.max_layers} x {self.max_centroids} centroids"
        )
        return Costs(memory=memory, backwards=self.steps_per_batch)

    def setup(self, image_shape: ImageShape) -> None:
        shape = resized(image_shape, self.image_side)
        self._check_sizes(image_shape)
        weights, self._rng, self._memory_rng = generators(self.seed, 3)
        with default_rng(weights):
            self.conv_ = ConvAutoencoder(shape).to(self.device)
            dims = [self.conv_.output_dim, *[self.max_width] * (self.max_layers - 1)]
            check_memory(self, "max_width", 16 * max(dims) * self.max_width)
            self.layers_ = nn.ModuleList(
                GrowingLayer(dim, self.max_width, max(LEAST_UNITS, FIRST_UNITS >> i), i + 1)
                for i, dim in enumerate(dims)
            ).to(self.device)
        self.centroids_ = nn.ModuleList(
            Centroids(self.max_centroids, self.max_width) for _ in dims
        ).to(self.device)
        self.optimizer_ = torch.optim.SGD(
            self.conv_.parameters(),
            lr=self.lr,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
        )
        self.memory_: OfferedMemory = OfferedMemory(self.memory_size, self._memory_rng)
        self.depth_ = torch.tensor(1)
        self._last = Ring(COMPARED, (self.conv_.output_dim,)).to(self.device)

    def _check_sizes(self, image_shape: ImageShape) -> None:
        check_memory(self, "memory_size", self.memory_size * math.prod(image_shape))
        check_memory(self, "max_width", 16 * self.max_width * self.max_width)
        check_memory(self, "max_layers", 16 * self.max_layers * self.max_width * self.max_width)
        held = 4 * self.max_layers * self.max_centroids * self.max_width
        check_memory(self, "max_centroids", held)

    def learn(self, batch: Tensor, labels: Tensor | None) -> None:
        images = self.pixels(batch)
        first = self.memory_.seen == 0
        steps = self.steps_per_batch * (FIRST_STEPS if first else 1)
        replayed = self.replay()
        both = torch.cat([images, replayed])
        drift = self._deepen(images)
        self.diagnostics_ = {"replayed": len(replayed), "loss": self._learn_conv(both, steps)}
        self._last.clear()
        if not drift:  # the batch after a drift is not tested
            self._last.push(self._compared(images))
        with torch.no_grad():
            x = self.conv_.encode(both)
        novel = torch.zeros(len(batch), dtype=torch.bool)
        for i in range(int(self.depth_)):
            novel |= self._learn_layer(i, x, len(images), steps)
            with torch.no_grad():
                x = self.layer(i).encode(x)
        self.memory_.update(batch, novel)
        self.diagnostics_ |= self._counts()

    def _learn_conv(self, images: Tensor, steps: int) -> float:
        loss = images.new_zeros(())
        for _ in range(steps):
            loss = F.mse_loss(self.conv_(images), images)
            descend(self, self.optimizer_, loss)
        return loss.item()

    def _deepen(self, images: Tensor) -> bool:
        """Add a layer if features have drifted since the last batch, by the network after it."""
        if int(self.depth_) == self.max_layers:
            return False
        drift = drifts(self._last.latest(), self._compared(images))
        self.depth_ += drift
        return drift

    @torch.no_grad()
    def _compared(self, images: Tensor) -> Tensor:
        """Return the features that are compared with another batch's, (n, d)."""
        return self.conv_.encode(images[-COMPARED:])

    def _learn_layer(self, i: int, x: Tensor, n: int, steps: int) -> Tensor:
        """Learn a layer from n stream inputs and replayed ones; return which were novel, (n,)."""
        layer, centroids = self.layer(i), self.centroids(i)
        self._change_width(i, x[:n])
        optimizer = torch.optim.SGD(
            layer.parameters(), lr=self.lr, weight_decay=self.weight_decay
        )  # without momentum it has no state
        for _ in range(steps):
            descend(self, optimizer, self.layer_loss(i, x))
        with torch.no_grad():
            h = layer.encode(x)
        layer.measure(h[:n])
        if len(centroids) == 0:
            centroids.start(h[: min(n, FIRST_CENTROIDS)])
        novel = centroids.learn(h[:n], chunk=self.chunk)
        if len(h) > n:
            centroids.learn(h[n:], opens=False, chunk=self.chunk)
        centroids.settle(self._rng)
        return novel

    def layer_loss(self, i: int, x: Tensor) -> Tensor:
        """Return the error of a layer's reconstruction, and the distance of codes to centroids."""
        layer, centroids = self.layer(i), self.centroids(i)
        h = layer.encode(x)
        loss = F.mse_loss(layer.decode(h), x)
        if self.clusters_weight == 0 or len(centroids) == 0:
            return loss
        with torch.no_grad():
            own = centroids.points[centroids.nearest(h)[1]]
        away: Tensor = (h - own).norm(dim=1)  # (n,)
        return loss + self.clusters_weight * away.mean()

    def _change_width(self, i: int, x: Tensor) -> None:
        for part in torch.split(x, self.chunk):
            self.layer(i).observe(part)
            pruned = self.layer(i).change(LEAST_UNITS, self._rng)
            if pruned is not None:
                self.centroids(i).forget(pruned)

    @torch.no_grad()
    def replay(self) -> Tensor:
        """Return the images in memory that the centroids of some layer cover badly."""
        if len(self.memory_) == 0:
            return torch.empty(0, *self.conv_shape(), device=self.device)
        images = self.pixels(self.memory_.images)
        x = self.conv_.encode(images)
        badly = torch.zeros(len(images), dtype=torch.bool, device=self.device)
        for i in range(int(self.depth_)):
            x = self.layer(i).encode(x)
            if len(self.centroids(i)):
                importance = (-self.centroids(i).nearest(x)[0]).exp()
                badly |= importance < importance.mean()
        return images[badly]

    def conv_shape(self) -> tuple[int, int, int]:
        """Return channels, height and width of the images that it learns from."""
        first = cast("nn.Conv2d", self.conv_.into[0])
        return first.in_channels, self.conv_.height, self.conv_.width

    def layer(self, i: int) -> GrowingLayer:
        """Return a layer, from 0."""
        return cast("GrowingLayer", self.layers_[i])

    def centroids(self, i: int) -> Centroids:
        """Return the centroids of a layer, from 0."""
        return cast("Centroids", self.centroids_[i])

    def pixels(self, batch: Tensor) -> Tensor:
        """Return checked uint8 images in [0, 1]."""
        return resize(batch.to(self.device), self.image_side)

    def embed(self, batch: Tensor) -> Tensor:
        x, codes = self.conv_.encode(self.pixels(batch)), []
        for i in range(int(self.depth_)):
            x = self.layer(i).encode(x)
            codes.append(x / self.layer(i).norm.clamp(min=1e-6))
        missing = (self.max_layers - len(codes)) * self.max_width
        return F.pad(torch.cat(codes, 1), (0, missing))  # (n, max_layers * max_width)

    def _counts(self) -> dict[str, float]:
        used = range(int(self.depth_))
        return {
            "layers": len(used),
            "units": sum(int(self.layer(i).active.sum()) for i in used),
            "centroids": sum(len(self.centroids(i)) for i in used),
        }

    def parts(self) -> dict[str, Part]:
        return {
            "conv": self.conv_,
            "layers": self.layers_,
            "centroids": self.centroids_,
            "optimizer": self.optimizer_,
            "memory": self.memory_,
            "memory_rng": self._memory_rng,
            "rng": self._rng,
            "depth": self.depth_,
            "last": self._last,
        }
