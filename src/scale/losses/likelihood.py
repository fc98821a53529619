"""Bernoulli likelihood of pixels in [0, 1]; grey pixels are probabilities."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def bernoulli_nll(logits: Tensor, pixels: Tensor) -> Tensor:
    """Return -log p(pixels) of each image, (n,): the cross-entropy summed over its pixels.

    Parameters
    ----------
    logits
        Log odds of each pixel, (n, c, h, w).
    pixels
        In [0, 1], (n, c, h, w).
    """
    nll = F.binary_cross_entropy_with_logits(logits, pixels, reduction="none")
    return nll.flatten(1).sum(1)


def pixel_entropy(pixels: Tensor) -> Tensor:
    """Return the entropy of each image's grey pixels, (n,): the least `bernoulli_nll` there is.

    Examples
    --------
    >>> pixel_entropy(torch.tensor([[0.0, 1.0], [0.5, 0.5]]))
    tensor([0.0000, 1.3863])
    """
    entropy = -torch.xlogy(pixels, pixels) - torch.xlogy(1 - pixels, 1 - pixels)
    return entropy.flatten(1).sum(1)


def bernoulli_kl(logits: Tensor, other_logits: Tensor) -> Tensor:
    """Return KL(Bernoulli(logits) || Bernoulli(other_logits)), summed over an image's pixels, (n,).

    Examples
    --------
    >>> bernoulli_kl(torch.zeros(1, 3), torch.zeros(1, 3))
    tensor([0.])
    """
    p = torch.sigmoid(logits)
    of_ones = F.logsigmoid(logits) - F.logsigmoid(other_logits)
    of_zeros = F.logsigmoid(-logits) - F.logsigmoid(-other_logits)
    return (p * of_ones + (1 - p) * of_zeros).flatten(1).sum(1)
