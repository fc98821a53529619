"""Crop, flip and resize images in one separable pass: two small matrices per image."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

CHUNK = 128  # images per step: few enough that its temporaries fit in the processor's cache


def resample(
    images: Tensor,
    box: Tensor,
    flip: Tensor,
    size: int | None,
    kernel: Literal["bilinear", "bicubic"],
) -> Tensor:
    """Return each image cropped to its box, flipped where `flip` is set, and resized to `size`."""
    n, channels, height, width = images.shape
    h, w = (height, width) if size is None else (size, size)
    views = torch.empty(n, channels, h, w, device=images.device)
    for start in range(0, n, CHUNK):
        chunk = slice(start, start + CHUNK)
        left, top, box_width, box_height = box[chunk].unbind(1)
        x, y = _centres(left, box_width, w), _centres(top, box_height, h)  # (n, w), (n, h)
        x = torch.where(flip[chunk, None], x.flip(1), x)
        columns = _weights(x, left, box_width, width, kernel)  # (n, w, W)
        rows = _weights(y, top, box_height, height, kernel).div_(255)  # (n, h, H)
        pixels = images[chunk].float().reshape(-1, channels * height, width)
        narrow = torch.bmm(pixels, columns.mT).view(-1, channels, height, w)
        for channel in range(channels):
            views[chunk, channel] = torch.bmm(rows, narrow[:, channel])
    return views.clamp_(0, 1)


def _centres(start: Tensor, extent: Tensor, outputs: int) -> Tensor:
    """Return the centres of `outputs` equal parts of [start, start + extent), (N, outputs)."""
    places = (torch.arange(outputs, device=start.device) + 0.5) / outputs
    return start[:, None] + extent[:, None] * places


def _weights(centres: Tensor, start: Tensor, extent: Tensor, inputs: int, kernel: str) -> Tensor:
    """Return the weights of `inputs` pixels in the output pixels at `centres`, (N, out, in).

    They are those of Pillow and of torch's antialiased interpolation: the kernel widens with the
    reduction, and the weights are normalised over the pixels of [start, start + extent).
    """
    width = (extent / centres.shape[1]).clamp(min=1)[:, None, None]  # (N, 1, 1)
    pixels = torch.arange(inputs, device=start.device) + 0.5
    t = (pixels - centres[:, :, None]).abs_().div_(width).neg_().add_(1)  # (N, out, in), 1 - |x|
    if kernel == "bilinear":
        weights = t.clamp_(min=0)
    else:  # Keys' cubic with a = -1/2, its three pieces in one sum
        far = (t + 1).clamp_(min=0).square_().mul_(t)
        weights = t.clamp(min=0).square_().mul_(1 - 2 * t).add_(far, alpha=0.5)
    inside = (pixels >= start[:, None]) & (pixels < (start + extent)[:, None])  # (N, in)
    weights.mul_(inside.to(weights.dtype)[:, None, :])
    return weights.div_(weights.sum(2, keepdim=True))
