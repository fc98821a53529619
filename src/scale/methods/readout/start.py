"""A read-out of frozen features, fitted to features that the memory keeps."""

from __future__ import annotations

import torch
from torch import Tensor, nn

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


class StartMap(nn.Module):
    """The read-out of `fit_start` as state, fitted at times.

    Parameters
    ----------
    features
        Dimension of the start's features.
    """

    mean: Tensor
    matrix: Tensor
    fitted: Tensor

    def __init__(self, features: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("matrix", torch.zeros(features, min(DIRECTIONS, features)))
        self.register_buffer("fitted", torch.tensor(False))

    def fit(self, memory: Buffer) -> None:
        """Fit the map to the features that the memory keeps."""
        mean, matrix = fit_start(memory, "cpu")
        self.mean.copy_(mean)
        self.matrix.copy_(matrix)
        self.fitted.fill_(True)

    def on(self, device: str) -> Whitening:
        """Return the map on a device."""
        return Whitening(self.mean.to(device), self.matrix.to(device))


def root(features: Tensor) -> Tensor:
    """Return the signed square root of features, which evens out large values.

    Examples
    --------
    >>> import torch
    >>> root(torch.tensor([4.0, -9.0])).tolist()
    [2.0, -3.0]
    """
    return features.sign() * features.abs().sqrt()
