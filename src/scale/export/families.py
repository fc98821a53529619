"""One graph for each family of methods: uint8 images in, the embeddings of `transform` out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from scale._errors import InputError
from scale._images import ImageShape, resized
from scale.export.layers import (
    CentroidDistances,
    Encode,
    Linear,
    PatchActivations,
    Resize,
    SignedRoot,
    Slow,
    UnitLength,
)
from scale.methods import ContrastiveLearner, Learner, ScalePlus
from scale.methods.core.pretrained import READOUT
from scale.methods.frozen import Frozen
from scale.methods.patches import Patches
from scale.methods.pca import PCA
from scale.methods.pixels import Pixels
from scale.methods.random import Random
from scale.methods.readout.start import DIRECTIONS, FEWEST_IMAGES, fit_start
from scale.methods.stam import STAM

L = TypeVar("L", bound=Learner)
_FAMILIES: dict[Any, Callable[[Any], nn.Module]] = {}
"""Makers of graphs, by the class whose `embed` they compute."""


def export_module(learner: Learner) -> nn.Module:
    """Return `transform` as one module, from uint8 images (n, c, h, w) to embeddings (n, d).

    A method of your own whose `embed` is new defines ``export_module(self)``, which returns such a
    module. It is on the CPU, in evaluation mode, and shares nothing with the learner.

    Examples
    --------
    >>> import numpy as np
    >>> images = np.zeros((2, 3, 8, 8), np.uint8)
    >>> learner = Pixels(image_side=4).partial_fit(images)
    >>> export_module(learner)(torch.from_numpy(images)).shape
    torch.Size([2, 48])
    """
    with learner.reading() as still, torch.no_grad():
        if still.image_shape_ is None:
            raise InputError("the learner has seen no images; let it learn before you export it")
        own = getattr(still, "export_module", None)
        made = own() if callable(own) else _family_of(still)(still)
    return made.cpu().eval().requires_grad_(False)


def _family_of(learner: Learner) -> Callable[[Any], nn.Module]:
    """Return the maker for the class that defines the learner's `embed`."""
    home = next(kind for kind in type(learner).__mro__ if "embed" in vars(kind))
    if home not in _FAMILIES:
        raise InputError(
            f"{learner.name!r} cannot be exported: its embed is its own, and no graph of it is "
            "known; define export_module(self), which returns a torch.nn.Module from uint8 images "
            "to embeddings"
        )
    return _FAMILIES[home]


def of(kind: Callable[..., L]) -> Callable[[Callable[[L], nn.Module]], Callable[[L], nn.Module]]:
    """Register the maker of the graph for a class that defines `embed`."""

    def add(make: Callable[[L], nn.Module]) -> Callable[[L], nn.Module]:
        _FAMILIES[kind] = make
        return make

    return add


def normalisation(learner: Any) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation that an encoder's pixels are normalised by.

    They are (1, c, 1, 1); three channels make three of a grey image.
    """
    return learner.pixel_mean_, learner.pixel_std_


def readout(learner: ScalePlus) -> tuple[nn.Module | None, nn.Module | None]:
    """Return the read-outs of patches and encoder; None for one that is not there (yet)."""
    root: list[nn.Module] = [SignedRoot()] if learner.root else []
    of_patches, of_encoder = (
        None if half is None else nn.Sequential(*root, Linear.of(half), UnitLength())
        for half in (learner.readout_.map_of(name, "cpu") for name in ("patches", "encoder"))
    )
    return of_patches, of_encoder


@of(ContrastiveLearner)
def _encoder(learner: ContrastiveLearner) -> nn.Module:
    """Return the graph of every learner whose embeddings are its encoder's features."""
    encode = Encode(learner.encoder_, *normalisation(learner))
    return nn.Sequential(Resize(shape_of(learner), learner.input_side_), encode)


@of(ScalePlus)
def _scale_plus(learner: ScalePlus) -> nn.Module:
    if learner.pretrained_:
        return _CarefulGraph(learner)
    of_patches, of_encoder = readout(learner)
    if of_encoder is None:
        return _encoder(learner)
    return _ScalePlusGraph(learner, of_patches, of_encoder)


class _ScalePlusGraph(nn.Module):
    """Two halves: patches and encoder, each with its read-out."""

    def __init__(
        self, learner: ScalePlus, of_patches: nn.Module | None, of_encoder: nn.Module
    ) -> None:
        super().__init__()
        self.of_patches, self.of_encoder = of_patches, of_encoder
        self.weight = learner.patch_weight
        self.encoder = _encoder(learner)
        self.slow = None if learner.slow_ is None else Slow(learner.slow_, learner.time_weight)
        self.patches: nn.Module | None = None
        if self.of_patches is not None:
            assert learner.dictionary_ is not None
            shape, side = shape_of(learner), learner._patch_image_side
            self.patches = nn.Sequential(
                Resize(shape, side),
                PatchActivations(learner.dictionary_, resized(shape, side)),
            )

    def forward(self, images: Tensor) -> Tensor:
        joined: Tensor = self.of_encoder(self.encoder(images))
        unit = nn.functional.normalize
        if self.patches is not None and self.of_patches is not None:
            patches = self.of_patches(self.patches(images))
            joined = unit(torch.cat([self.weight * patches, joined], 1))
        return joined if self.slow is None else unit(torch.cat([joined, self.slow(joined)], 1))


class _CarefulGraph(nn.Module):
    """scale-plus from pretrained weights: start and learned encoder, read-out, patches."""

    def __init__(self, learner: ScalePlus) -> None:
        super().__init__()
        shape = shape_of(learner)
        assert isinstance(learner.start_encoder_, nn.Module)
        resize = Resize(shape, learner.input_side_)
        self.start = nn.Sequential(
            resize, Encode(learner.start_encoder_, *normalisation(learner)).eval()
        )
        self.learned = _encoder(learner)
        self.trust: list[float] = learner.trust_.tolist()
        self.directions = min(DIRECTIONS, learner.output_dim_)
        self.clusters = 0 if learner.dictionary_ is None else learner.clusters
        self.of_start: nn.Module | None = None
        self.patches: nn.Module | None = None
        if len(learner.memory_) < FEWEST_IMAGES:
            return
        of_start, of_patches = learner.fitted_maps()
        self.of_start = nn.Sequential(SignedRoot(), Linear.of(of_start), UnitLength())
        if of_patches is not None and self.trust[1] and learner.dictionary_ is not None:
            side = learner._patch_image_side
            root: list[nn.Module] = [SignedRoot()] if learner.root else []
            self.patches = nn.Sequential(
                Resize(shape, side),
                PatchActivations(learner.dictionary_, resized(shape, side)),
                *root,
                Linear.of(of_patches),
                UnitLength(),
            )

    def forward(self, images: Tensor) -> Tensor:
        start = self.start(images)
        learned = self.learned(images) if self.trust[0] else start
        unit = nn.functional.normalize
        blocks = [unit(unit(start) + self.trust[0] * unit(learned))]
        none = start[:, :1] * 0
        if self.of_start is None:
            blocks.append(none.expand(-1, self.directions))
        else:
            blocks.append(READOUT * self.of_start(start))
        if self.patches is not None:
            blocks.append(self.trust[1] * self.patches(images))
        elif self.clusters:
            blocks.append(none.expand(-1, self.clusters))
        return unit(torch.cat(blocks, 1))


@of(Frozen)
def _frozen(learner: Frozen) -> nn.Module:
    steps: list[nn.Module] = [
        Resize(shape_of(learner), learner.input_side_),
        Encode(learner.encoder_, *normalisation(learner)),
    ]
    if learner.readout and len(learner.memory_) >= FEWEST_IMAGES:
        steps += [SignedRoot(), Linear.of(fit_start(learner.memory_, learner.device))]
    return nn.Sequential(*steps, UnitLength())


@of(Patches)
def _patches(learner: Patches) -> nn.Module:
    shape, side = shape_of(learner), learner.image_side
    steps: list[nn.Module] = [
        Resize(shape, side),
        PatchActivations(learner.dictionary_, resized(shape, side)),
    ]
    if learner.normalise:
        learner.embed(torch.zeros(1, *shape, dtype=torch.uint8))  # fits the whitening
        if learner._whitening is not None:
            steps.append(Linear.of(learner._whitening))
        steps.append(UnitLength())
    return nn.Sequential(*steps)


@of(STAM)
def _stam(learner: STAM) -> nn.Module:
    return _StamGraph(learner)


class _StamGraph(nn.Module):
    """Distances to the centroids of each layer, side by side; ones without any centroid."""

    def __init__(self, learner: STAM) -> None:
        super().__init__()
        shape, side = shape_of(learner), learner.image_side
        self.resize = Resize(shape, side)
        found = [
            (layer.long_term if len(layer.long_term) else layer.short_term, field)
            for field, layer in learner._layers()
        ]
        self.layers = nn.ModuleList(
            CentroidDistances(centroids, resized(shape, side), field, learner.stride)
            for centroids, field in found
            if len(centroids)
        )

    def forward(self, images: Tensor) -> Tensor:
        pixels = self.resize(images)
        if not self.layers:
            return torch.ones_like(pixels[:, 0, 0, :1])
        return torch.cat([layer(pixels) for layer in self.layers], 1)


@of(Random)
def _random(learner: Random) -> nn.Module:
    encode = Encode(learner.encoder_, *normalisation(learner))
    return nn.Sequential(Resize(shape_of(learner), learner.input_side_), encode)


@of(Pixels)
def _pixels(learner: Pixels) -> nn.Module:
    return nn.Sequential(Resize(shape_of(learner), learner.image_side), nn.Flatten())


@of(PCA)
def _pca(learner: PCA) -> nn.Module:
    flat = nn.Sequential(Resize(shape_of(learner), learner.image_side), nn.Flatten())
    return nn.Sequential(flat, Linear(learner.mean_, learner.components_.T))


def shape_of(learner: Learner) -> ImageShape:
    """Return the shape of the images that a learner has seen."""
    assert learner.image_shape_ is not None
    return learner.image_shape_
