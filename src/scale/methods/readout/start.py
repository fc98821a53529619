"""A read-out of frozen features, fitted to features that the memory keeps."""

from __future__ import annotations

from torch import Tensor

from scale.memory import Buffer
from scale.methods.readout.whitening import Whitening, contrast_whitening

FEATURES, VIEWS = "start_features", "start_views"
"""Columns of the memory: the start's features of each image, and of one view of it."""
FEWEST_IMAGES = 16  # to fit a read-out
DIRECTIONS = 256  # of the read-out; those of less variance between images are mostly noise
RIDGE = 0.2


def fit_start(memory: Buffer, device: str) -> Whitening:
    """Return the read-out of the root of the start's features, fitted to those in memory.

    Frozen features of an image never change, so the memory keeps them and no image is encoded
    again.
    """
    sample, views = root(memory.columns[FEATURES]), root(memory.columns[VIEWS])
    fitted = contrast_whitening(sample, [views], RIDGE, min(DIRECTIONS, sample.shape[1]))
    return Whitening(*(part.to(device) for part in fitted))


def root(features: Tensor) -> Tensor:
    """Return the signed square root of features, which evens out large values.

    Examples
    --------
    >>> import torch
    >>> root(torch.tensor([4.0, -9.0])).tolist()
    [2.0, -3.0]
    """
    return features.sign() * features.abs().sqrt()
