"""Colour operations on batches of images in [0, 1], each image with its own factor."""

from __future__ import annotations

import torch
from torch import Tensor

GREY_WEIGHTS = (0.2989, 0.587, 0.114)


def adjust_brightness_(images: Tensor, factor: Tensor) -> Tensor:
    """Multiply by `factor` (broadcast over the images) in place; 0 gives black."""
    return images.mul_(factor).clamp_(0, 1)


def adjust_contrast_(images: Tensor, factor: Tensor) -> Tensor:
    """Scale distances from each image's mean grey in place; 0 gives a uniform grey."""
    mean = to_grey(images).mean((1, 2, 3), keepdim=True)  # (N, 1, 1, 1)
    return images.mul_(factor).add_((1 - factor) * mean).clamp_(0, 1)


def adjust_saturation_(images: Tensor, factor: Tensor) -> Tensor:
    """Scale distances from each pixel's grey in place; 0 gives a grey image."""
    grey = to_grey(images).mul_(1 - factor)  # (N, 1, H, W)
    return images.mul_(factor).add_(grey).clamp_(0, 1)


def shift_hue_(images: Tensor, shift: Tensor) -> Tensor:
    """Turn the hue of RGB images in place by `shift` turns; keep value and saturation.

    Equal to a conversion to HSV and back, where each channel ends as ``min + (max - min) * ramp``.
    The ramp depends on the hue alone: ``clamp(6 |frac(hue + offset) - 1/2| - 1, 0, 1)``. So
    saturation is never computed.

    Parameters
    ----------
    images
        (N, 3, H, W) in [0, 1].
    shift
        Broadcastable to (N, H, W).
    """
    red, green, blue = images.unbind(1)  # (N, H, W) each
    highest = torch.maximum(torch.maximum(red, green), blue)
    lowest = torch.minimum(torch.minimum(red, green), blue)
    spread = highest - lowest
    # Grey pixels have spread 0 and no hue: any value will do, but 0 / 0 must be avoided.
    sixth = (spread * 6).clamp_(min=torch.finfo(images.dtype).tiny).reciprocal_()
    # Masks of 0.0 and 1.0 with lerp: torch.where on irregular masks takes ten times as long.
    is_red, is_green = highest.clone().eq_(red), highest.clone().eq_(green)
    hue = torch.lerp(
        (red - green).mul_(sixth).add_(4 / 6),  # where blue is the highest
        (blue - red).mul_(sixth).add_(2 / 6),
        is_green,
    )
    hue.lerp_((green - blue).mul_(sixth), is_red).add_(shift)  # in turns, > -1
    for channel, offset in zip((red, green, blue), (0, 4 / 6, 2 / 6), strict=True):
        ramp = (hue + (offset + 1)).frac_().sub_(0.5).abs_().mul_(6).sub_(1).clamp_(0, 1)
        torch.addcmul(lowest, ramp, spread, out=channel)
    return images


def to_grey(images: Tensor) -> Tensor:
    """Return the luma of RGB images, (N, 1, H, W), or the mean of other numbers of channels."""
    if images.shape[1] != 3:
        return images.mean(1, keepdim=True)
    red, green, blue = GREY_WEIGHTS
    grey = images[:, :1] * red
    return grey.add_(images[:, 1:2], alpha=green).add_(images[:, 2:], alpha=blue)
