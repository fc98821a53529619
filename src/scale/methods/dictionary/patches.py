"""Normalised patches of images, and their distances to centroids."""

from __future__ import annotations

import torch
from torch import Tensor

from scale.methods.dictionary.windows import windows

FLAT = 1e-5  # lower deviations are rounding: one grey level in one pixel gives ten times as much
SAME = 1e-5  # lower squared distances, per dimension, are rounding
ELEMENTS = 2**20  # distances held at once: more do not fit the processor's cache, at half the speed


def patches_of(images: Tensor, side: int, stride: int) -> Tensor:
    """Return the patches of images, each with mean 0 and deviation 1, or 0 if it has no contrast.

    Parameters
    ----------
    images
        Floating point, (n, c, h, w).
    side
        Side of a patch.
    stride
        Pixels from one patch to the next.

    Returns
    -------
    Tensor
        (n, patches, c * side * side), row by row from the top left.

    Examples
    --------
    >>> patches_of(torch.eye(3)[None, None], 2, 1)[0, :2]
    tensor([[ 1.0000, -1.0000, -1.0000,  1.0000],
            [-0.5774, -0.5774,  1.7321, -0.5774]])
    """
    patches = windows(images, side, stride).flatten(3).flatten(1, 2)  # (n, patches, p)
    patches = patches - patches.mean(2, keepdim=True)
    deviation = patches.square().mean(2, keepdim=True).sqrt_()
    return patches.div_(torch.where(deviation > FLAT, deviation, torch.inf))


def nearest_centroid(x: Tensor, centroids: Tensor, half_squares: Tensor) -> tuple[Tensor, Tensor]:
    """Return the nearest centroid of each patch, and the distance to it, (n,) each.

    Parameters
    ----------
    x
        Patches, (n, p).
    centroids, half_squares
        (k, p), and half of their squared lengths, (k,); infinity excludes a centroid.
    """
    found = [
        # |x - c|^2 / 2 without |x|^2 / 2, which is the same for all centroids
        torch.addmm(half_squares, part, centroids.T, alpha=-1).min(1)
        for part in torch.split(x, max(1, ELEMENTS // len(centroids)))
    ]
    least = torch.cat([values for values, _ in found])
    distances = (x.square().sum(1) + 2 * least).clamp_(min=0).sqrt_()
    return torch.cat([indices for _, indices in found]), distances


def relative_distances(patches: Tensor, centroids: Tensor) -> Tensor:
    """Return the distance from each centroid to the nearest patch of each image, (n, k).

    The unit is the mean distance of the image's patches to all centroids.

    Parameters
    ----------
    patches
        (n, patches, p).
    centroids
        (k, p).
    """
    _, count, p = patches.shape
    lengths = centroids.square().sum(1)  # (k,)
    rows = []
    for part in torch.split(patches, max(1, ELEMENTS // (count * len(centroids)))):
        x = part.reshape(-1, p)
        squares = torch.addmm(lengths, x, centroids.T, alpha=-2)
        squares = squares.add_(x.square().sum(1, keepdim=True)).clamp_(min=0)
        squares = squares.view(len(part), count, -1)
        nearest = squares.amin(1)  # (n, k)
        nearest = nearest.where(nearest > SAME * p, 0).sqrt_()
        unit = squares.sqrt_().mean((1, 2))
        rows.append(nearest / unit.clamp(min=torch.finfo(unit.dtype).tiny)[:, None])
    return torch.cat(rows)


def nearest_of_each(group: Tensor, distances: Tensor) -> Tensor:
    """Return the index of the nearest member of each group, in the order of the groups.

    Examples
    --------
    >>> nearest_of_each(torch.tensor([7, 3, 7, 3]), torch.tensor([0.1, 0.9, 0.5, 0.2])).tolist()
    [3, 0]
    """
    order = distances.argsort(stable=True)
    order = order[group[order].argsort(stable=True)]
    sorted_group = group[order]
    first = torch.ones_like(order, dtype=torch.bool)
    first[1:] = sorted_group[1:] != sorted_group[:-1]
    return order[first]
