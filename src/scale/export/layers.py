"""The steps of `transform` as modules that torch.export can trace: no split, no in-place step."""

from __future__ import annotations

import math
from copy import deepcopy

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from scale.methods.core.precision import remove_precision
from scale.methods.dictionary.patch_dictionary import (
    CONTRAST,
    FEWEST_TO_THIN,
    PatchDictionary,
    _averages,
    _patches,
)
from scale.methods.dictionary.patches import FLAT, SAME
from scale.methods.dictionary.windows import windows
from scale.methods.readout.slow import SlowFeatures
from scale.methods.readout.whitening import Whitening
from scale.models._conv import Conv3x3, Shortcut1x1

WIDE = 8


class Resize(nn.Module):
    """uint8 images, (n, c, h, w), to floats in [0, 1] of another side, as `scale.augment.resize`.

    Antialiased interpolation is linear and separable, so it is one matrix for the rows and one for
    the columns. They hold torch's own weights: the images of unit vectors.
    """

    rows: Tensor | None
    columns: Tensor | None

    def __init__(self, image_shape: tuple[int, int, int], side: int | None) -> None:
        super().__init__()
        _, height, width = image_shape
        same = side is None or (height, width) == (side, side)
        self.register_buffer("rows", None if same else _interpolation(height, side or 0))
        self.register_buffer("columns", None if same else _interpolation(width, side or 0).T)

    def forward(self, images: Tensor) -> Tensor:
        pixels = images.float() / 255
        if self.rows is None or self.columns is None:
            return pixels
        return _product(self.rows, pixels @ self.columns)


def _interpolation(length: int, side: int) -> Tensor:
    """Return the weights of `length` pixels in `side` resized ones, (side, length)."""
    units = torch.eye(length)[:, None, :, None].expand(-1, -1, -1, WIDE).contiguous()
    # torch takes maps that are one pixel wide for another layout and mixes them up.
    rows = F.interpolate(units, (side, WIDE), mode="bilinear", antialias=True)[:, 0, :, 0]
    return rows.T.contiguous()


class Encode(nn.Module):
    """Normalise pixels, then encode them, in evaluation mode."""

    mean: Tensor
    std: Tensor

    def __init__(self, encoder: nn.Module, mean: Tensor, std: Tensor) -> None:
        super().__init__()
        self.encoder = plain(encoder)
        self.register_buffer("mean", mean.detach().cpu().clone())
        self.register_buffer("std", std.detach().cpu().clone())

    def forward(self, pixels: Tensor) -> Tensor:
        h: Tensor = self.encoder((pixels - self.mean) / self.std)
        return h  # (n, d)


def plain(encoder: nn.Module) -> nn.Module:
    """Return a copy of an encoder for any runtime: on the CPU, plain convolutions, contiguous.

    Our convolutions choose their algorithm by the batch size, which a graph does not know. Learners
    embed in fp32, whatever precision they learn in.
    """
    copy = deepcopy(encoder).cpu().eval().requires_grad_(False)
    remove_precision(copy)
    for part in copy.modules():
        if isinstance(part, Conv3x3 | Shortcut1x1):
            # The same object with the same parameters, because other modules may refer to it.
            part.__class__ = nn.Conv2d  # type: ignore[assignment]
    for tensor in (*copy.parameters(), *copy.buffers()):
        tensor.data = tensor.data.contiguous()
    return copy


class Gather(nn.Module):
    """Patches of each image, (n, patches, c * side * side), by one gather.

    Parameters
    ----------
    index
        Places of the pixels of each patch in a flat image, (patches, c * side * side).
    """

    index: Tensor

    def __init__(self, index: Tensor) -> None:
        super().__init__()
        self.shape = tuple(index.shape)
        self.register_buffer("index", index.flatten().to(torch.int32))

    def forward(self, pixels: Tensor) -> Tensor:
        taken = pixels.flatten(1).index_select(1, self.index)
        return taken.view(-1, *self.shape)


def _places(image_shape: tuple[int, int, int]) -> Tensor:
    """Return an image whose pixels are their places in the flat image, (1, c, h, w)."""
    return torch.arange(math.prod(image_shape)).view(1, *image_shape)


class PatchActivations(nn.Module):
    """`PatchDictionary.activations`."""

    whitener: Tensor
    centroids: Tensor
    lengths: Tensor
    averages: Tensor

    def __init__(self, dictionary: PatchDictionary, image_shape: tuple[int, int, int]) -> None:
        super().__init__()
        side = dictionary.patch_side
        rows, columns = (length - side + 1 for length in image_shape[1:])
        thin = dictionary.thin and min(rows, columns) >= FEWEST_TO_THIN
        self.windows = Gather(_patches(_places(image_shape), side, thin)[0].flatten(1))
        whitener = dictionary._whitener().cpu()
        self.register_buffer("whitener", whitener.float())
        self.register_buffer("centroids", (dictionary.centroids.cpu() @ whitener).float())
        self.register_buffer("lengths", self.centroids.square().sum(1))
        self.register_buffer("averages", _averages(rows, columns, thin))

    def forward(self, pixels: Tensor) -> Tensor:
        patches = self.windows(pixels)  # (n, patches, p)
        centred = patches - _mean(patches)
        contrast = (_mean(centred.square()) + CONTRAST).sqrt()
        white = centred / contrast @ self.whitener
        distances = _squares(white, self.centroids, self.lengths).sqrt()
        active = (_mean(distances) - distances).relu()  # (n, patches, K)
        return _product(self.averages, active).flatten(1)  # (n, 4K)


class CentroidDistances(nn.Module):
    """`relative_distances` of the normalised patches of images to fixed centroids."""

    centroids: Tensor
    lengths: Tensor

    def __init__(
        self, centroids: Tensor, image_shape: tuple[int, int, int], side: int, stride: int
    ) -> None:
        super().__init__()
        grid = windows(_places(image_shape), side, stride)  # (1, rows, columns, c, side, side)
        self.windows = Gather(grid[0].flatten(2).flatten(0, 1))
        self.register_buffer("centroids", centroids.detach().cpu().clone())
        self.register_buffer("lengths", self.centroids.square().sum(1))

    def forward(self, pixels: Tensor) -> Tensor:
        patches = self.windows(pixels)
        centred = patches - _mean(patches)
        deviation = _mean(centred.square()).sqrt()
        scale = torch.where(deviation > FLAT, 1 / deviation.clamp(min=FLAT), 0.0)
        squares = _squares(centred * scale, self.centroids, self.lengths)  # (n, patches, k)
        nearest = squares.amin(1)
        nearest = torch.where(nearest > SAME * patches.shape[2], nearest, 0.0).sqrt()
        unit = squares.sqrt().mean((1, 2)).clamp(min=torch.finfo(torch.float32).tiny)
        return nearest / unit[:, None]  # (n, k)


def _squares(rows: Tensor, centroids: Tensor, lengths: Tensor) -> Tensor:
    """Return squared distances, (..., k), by one matrix product; `lengths` are squared, (k,)."""
    return (lengths - 2 * (rows @ centroids.T) + _sum(rows.square())).clamp(min=0)


# Of an empty batch, onnxruntime takes sums and means over the rows of a matrix only, and no product
# with one matrix at its left. These forms take any number of images.


def _sum(rows: Tensor) -> Tensor:
    """Return the sum of each row, (n, patches, 1)."""
    return rows.flatten(0, 1).sum(1, keepdim=True).view(*rows.shape[:2], 1)


def _mean(rows: Tensor) -> Tensor:
    """Return the mean of each row, (n, patches, 1)."""
    return rows.flatten(0, 1).mean(1, keepdim=True).view(*rows.shape[:2], 1)


def _product(matrix: Tensor, batch: Tensor) -> Tensor:
    """Return `matrix @ batch`."""
    return matrix.expand(*batch.shape[:-2], *matrix.shape) @ batch


class Linear(nn.Module):
    """A read-out or whitening: subtract a mean, multiply by a matrix."""

    mean: Tensor
    matrix: Tensor

    def __init__(self, mean: Tensor, matrix: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", mean.detach().cpu().float())
        self.register_buffer("matrix", matrix.detach().cpu().float())

    @classmethod
    def of(cls, whitening: Whitening) -> Linear:
        """Return the map of a fitted whitening."""
        return cls(whitening.mean, whitening.matrix)

    def forward(self, features: Tensor) -> Tensor:
        return (features - self.mean) @ self.matrix


class SignedRoot(nn.Module):
    """The signed square root."""

    def forward(self, features: Tensor) -> Tensor:
        return features.sign() * features.abs().sqrt()


class Slow(nn.Module):
    """Slow features of embeddings."""

    def __init__(self, slow: SlowFeatures, weight: float) -> None:
        super().__init__()
        self.map = Linear.of(Whitening(slow.centre.cpu(), slow.matrix.cpu()))
        self.weight = weight

    def forward(self, embeddings: Tensor) -> Tensor:
        slow: Tensor = self.map(embeddings)
        return self.weight * slow


class UnitLength(nn.Module):
    """Rows of length 1."""

    def forward(self, features: Tensor) -> Tensor:
        return F.normalize(features)
