"""Random views of a batch of images, by batched operations with random numbers for each image.

Crop, flip and resize are one pass. It is separable, because crop boxes are parallel to the axes:
two small matrices per image, applied by batched matrix products. This costs half as much as
``affine_grid`` and ``grid_sample``. It is antialiased, so a 64x64 crop can become a 32x32 view.
Only affine maps need ``grid_sample``; presets with one do crop, flip and map in that pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from scale._colour import (
    adjust_brightness_,
    adjust_contrast_,
    adjust_saturation_,
    shift_hue_,
    to_grey,
)
from scale._errors import InputError
from scale._registry import Registry
from scale._resample import CHUNK, resample

CROP_TRIES = 10


def _check_images(images: Tensor) -> None:
    if not isinstance(images, Tensor):
        raise InputError(f"images must be a torch tensor, got {type(images).__name__}")
    if images.ndim != 4 or 0 in images.shape[1:]:
        raise InputError(f"images must have shape (N, C, H, W), got {tuple(images.shape)}")
    if images.dtype != torch.uint8 and not images.is_floating_point():
        raise InputError(f"images must be uint8 or floating point, got {images.dtype}")


def _check_size(size: int | None) -> None:
    if size is not None and size < 1:
        raise InputError(f"size, the side of the views, must be 1 or more, or None, got {size}")


@dataclass(frozen=True)
class Augmentation:
    """A distribution of random views; calling it draws one view of each image.

    Every default is neutral: ``Augmentation()`` only converts to floats. Distributions are those of
    torchvision's RandomResizedCrop, RandomHorizontalFlip, RandomAffine, ColorJitter and
    RandomGrayscale. The order of the jitter is fixed: brightness, contrast, saturation, hue.

    Parameters
    ----------
    crop_scale
        Range of the crop's area as a fraction of the image's; (1, 1) keeps the whole image.
    crop_ratio
        Range of the crop's width / height, uniform in its logarithm.
    interpolation
        Kernel of the crop, or of ``grid_sample`` with an affine map.
    flip
        Probability of a horizontal flip.
    rotation, shear
        Largest angle in degrees, clockwise or anticlockwise.
    translate
        Largest shift along either axis, as a fraction of the side.
    zoom
        Range of the affine map's magnification. Pixels from outside the image are black.
    jitter
        Probability that an image's colours are jittered.
    brightness, contrast, saturation
        Factors are uniform in [max(0, 1 - value), 1 + value].
    hue
        Shift is uniform in [-hue, hue], in turns of the colour circle.
    grey
        Probability of becoming grey.
    size
        Side of the square views; None keeps the images' height and width.

    Examples
    --------
    >>> images = torch.zeros(4, 3, 64, 64, dtype=torch.uint8)
    >>> views = AUGMENTATIONS["tinyimagenet"](images, torch.Generator().manual_seed(0))
    >>> views.shape, views.dtype
    (torch.Size([4, 3, 32, 32]), torch.float32)
    """

    crop_scale: tuple[float, float] = (1.0, 1.0)
    crop_ratio: tuple[float, float] = (3 / 4, 4 / 3)
    interpolation: Literal["bilinear", "bicubic"] = "bilinear"
    flip: float = 0.0
    rotation: float = 0.0
    translate: float = 0.0
    zoom: tuple[float, float] = (1.0, 1.0)
    shear: float = 0.0
    jitter: float = 0.0
    brightness: float = 0.0
    contrast: float = 0.0
    saturation: float = 0.0
    hue: float = 0.0
    grey: float = 0.0
    size: int | None = None

    def __post_init__(self) -> None:
        for name in ("flip", "jitter", "grey"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must be in [0, 1], got {getattr(self, name)}")
        for name in ("crop_scale", "crop_ratio", "zoom"):
            low, high = getattr(self, name)
            if not 0 < low <= high:
                raise InputError(f"{name} must have 0 < low <= high, got ({low}, {high})")
        if self.crop_scale[1] > 1:
            raise InputError(f"crop_scale must be at most 1, got {self.crop_scale}")
        if not 0 <= self.hue <= 0.5:
            raise InputError(f"hue must be in [0, 0.5], in turns, got {self.hue}")
        for name in ("brightness", "contrast", "saturation", "rotation", "translate", "shear"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} must be 0 or more, got {getattr(self, name)}")
        if self.interpolation not in ("bilinear", "bicubic"):
            raise InputError(
                f"interpolation must be bilinear or bicubic, got {self.interpolation!r}"
            )
        _check_size(self.size)

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """Draw one view of each image.

        Parameters
        ----------
        images
            uint8, (N, C, H, W); not modified.
        generator
            Source of all randomness, owned by the caller; it may live on another device.

        Returns
        -------
        Tensor
            float32 in [0, 1], (N, C, h, w), in channels-last layout.
        """
        _check_images(images)
        if images.dtype != torch.uint8:
            raise InputError(f"images must be uint8 in [0, 255], got {images.dtype}")
        box = self._draw_boxes(images, generator)  # (N, 4)
        flip = _uniform(generator, images, 0, 1) < self.flip  # (N,)
        affine = self.rotation or self.translate or self.shear or self.zoom != (1.0, 1.0)
        if affine and len(images):  # grid_sample refuses empty batches
            views = self._warp(images, box, flip, generator)
        else:
            views = resample(images, box, flip, self.size, self.interpolation)
        self._jitter_(views, generator)
        return views.contiguous(memory_format=torch.channels_last)

    def _draw_boxes(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """Draw (left, top, width, height) of each image's crop, in whole pixels."""
        n, _, height, width = images.shape
        if self.crop_scale == (1.0, 1.0):
            return torch.tensor([0.0, 0.0, width, height], device=images.device).expand(n, 4)
        area = height * width * _uniform(generator, images, *self.crop_scale, CROP_TRIES)
        low, high = (math.log(ratio) for ratio in self.crop_ratio)
        ratio = _uniform(generator, images, low, high, CROP_TRIES).exp()  # (N, tries)
        w = (area * ratio).sqrt().round().clamp(min=1)
        h = (area / ratio).sqrt().round().clamp(min=1)
        fits = (w <= width) & (h <= height)
        first = fits.to(torch.uint8).argmax(1, keepdim=True)  # (N, 1), the first try that fits
        # When no try fits: the largest centred box whose ratio is allowed.
        centred_w = min(width, round(height * self.crop_ratio[1]))
        centred_h = min(height, round(width / self.crop_ratio[0]))
        fitted = fits.any(1)
        w = torch.where(fitted, w.gather(1, first)[:, 0], centred_w)  # (N,)
        h = torch.where(fitted, h.gather(1, first)[:, 0], centred_h)
        left = (_uniform(generator, images, 0, 1) * (width - w + 1)).floor()
        top = (_uniform(generator, images, 0, 1) * (height - h + 1)).floor()
        left = torch.where(fitted, left, (width - centred_w) // 2)
        top = torch.where(fitted, top, (height - centred_h) // 2)
        # A uniform number just under 1 can round up to 1 in the product.
        return torch.stack([left.minimum(width - w), top.minimum(height - h), w, h], 1)

    def _warp(
        self, images: Tensor, box: Tensor, flip: Tensor, generator: torch.Generator
    ) -> Tensor:
        """Crop, flip and map affinely with one `grid_sample`, at the resolution of the views."""
        n, _, height, width = images.shape
        extent = box.new_tensor([width, height])
        centre = (2 * box[:, :2] + box[:, 2:]) / extent - 1  # (N, 2), in [-1, 1] coordinates
        half = box[:, 2:] / extent
        half = half * torch.stack([1 - 2 * flip.float(), torch.ones_like(half[:, 0])], 1)
        crop = torch.cat([torch.diag_embed(half), centre[:, :, None]], 2)  # (N, 2, 3)
        # From view to image coordinates: undo the shift, the rotation, the shear and the zoom.
        angle = torch.deg2rad(_uniform(generator, images, -self.rotation, self.rotation))
        slant = torch.deg2rad(_uniform(generator, images, -self.shear, self.shear)).tan()
        shift = 2 * _uniform(generator, images, -self.translate, self.translate, 2)  # (N, 2)
        zoom = _uniform(generator, images, *self.zoom)
        cos, sin = angle.cos(), angle.sin()
        rows = [cos - slant * sin, sin + slant * cos, -sin, cos]
        inverse = torch.stack(rows, 1).view(n, 2, 2) / zoom[:, None, None]
        # Rotation is in pixels, coordinates are in halves of each side.
        inverse = inverse * (extent[None, :] / extent[:, None])
        crop[:, :, 2] -= shift
        small = resize(images, self.size)  # (N, C, h, w)
        grid = F.affine_grid(inverse @ crop, list(small.shape), align_corners=False)
        views = F.grid_sample(small, grid, self.interpolation, "zeros", align_corners=False)
        return views.clamp_(0, 1)

    def _jitter_(self, views: Tensor, generator: torch.Generator) -> None:
        """Jitter colours and turn images grey, in place, each with its probability."""
        coloured = views.shape[1] == 3
        jittered = _uniform(generator, views, 0, 1) < self.jitter  # (N,)
        greyed = _uniform(generator, views, 0, 1) < self.grey
        spread = views.new_tensor([self.brightness, self.contrast, self.saturation])
        # (N, 3): factors of brightness, contrast, saturation
        low = (1 - spread).clamp(min=0)
        factors = low + (1 + spread - low) * _uniform(generator, views, 0, 1, 3)
        shift = _uniform(generator, views, -self.hue, self.hue)
        chosen = jittered.nonzero()[:, 0]
        for start in range(0, len(chosen), CHUNK):
            index = chosen[start : start + CHUNK]
            chunk = views[index]  # (n, C, h, w)
            b, c, s = factors[index, :, None, None, None].unbind(1)  # (n, 1, 1, 1) each
            if self.brightness:
                adjust_brightness_(chunk, b)
            if self.contrast:
                adjust_contrast_(chunk, c)
            if self.saturation and coloured:
                adjust_saturation_(chunk, s)
            if self.hue and coloured:
                shift_hue_(chunk, shift[index, None, None])
            views[index] = chunk
        if self.grey and coloured:
            index = greyed.nonzero()[:, 0]
            views[index] = to_grey(views[index]).expand(-1, 3, -1, -1)


AUGMENTATIONS: Registry[Augmentation] = Registry("augmentation")

_CIFAR = Augmentation(
    crop_scale=(0.2, 1.0),
    flip=0.5,
    jitter=0.8,
    brightness=0.4,
    contrast=0.4,
    saturation=0.4,
    hue=0.1,
    grey=0.2,
)
_MNIST = Augmentation(
    rotation=15, translate=0.1, zoom=(0.8, 1.2), shear=10, jitter=0.8, brightness=0.4, contrast=0.4
)
AUGMENTATIONS.register("cifar")(_CIFAR)
_TINYIMAGENET = replace(_CIFAR, crop_scale=(0.08, 1.0), interpolation="bicubic", size=32)
AUGMENTATIONS.register("tinyimagenet")(_TINYIMAGENET)
# The paper and its code do not change the colours of these images.
AUGMENTATIONS.register("tinyimagenet-paper")(replace(_TINYIMAGENET, jitter=0.0, grey=0.0))
AUGMENTATIONS.register("mnist")(_MNIST)
# These digits have any position and size, so shifts and zooms are stronger.
AUGMENTATIONS.register("digits")(replace(_MNIST, translate=0.25, zoom=(0.6, 1.4)))
AUGMENTATIONS.register("none")(Augmentation())


def two_views(images: Tensor, augmentation: Augmentation, generator: torch.Generator) -> Tensor:
    """Draw two views of each image: the first of all, then the second of all.

    Parameters
    ----------
    images
        uint8, (N, C, H, W).
    augmentation
        Distribution of the views.
    generator
        Source of all randomness, owned by the caller.

    Returns
    -------
    Tensor
        float32, (2N, C, h, w); the twin of view i is view (i + N) mod 2N.

    Examples
    --------
    >>> images = torch.arange(3, dtype=torch.uint8).view(3, 1, 1, 1)
    >>> views = two_views(images, AUGMENTATIONS["none"], torch.Generator())
    >>> (views * 255).flatten().tolist()
    [0.0, 1.0, 2.0, 0.0, 1.0, 2.0]
    """
    _check_images(images)
    return augmentation(images.repeat(2, 1, 1, 1), generator)


def resize(images: Tensor, size: int | None) -> Tensor:
    """Resize images to a square of side `size`, antialiased and without randomness.

    Parameters
    ----------
    images
        (N, C, H, W), uint8 in [0, 255] or floating point in [0, 1]; not modified.
    size
        Side of the result; None keeps height and width.

    Returns
    -------
    Tensor
        float32 in [0, 1]; the same pixels if the images have that size.
    """
    _check_images(images)
    _check_size(size)
    pixels = images.float() / 255 if images.dtype == torch.uint8 else images.float()
    if size is None or images.shape[2:] == (size, size):
        return pixels
    return F.interpolate(pixels, (size, size), mode="bilinear", antialias=True)


def _uniform(
    generator: torch.Generator, like: Tensor, low: float, high: float, count: int | None = None
) -> Tensor:
    """Draw uniform numbers for each image of `like`: (N,), or (N, count)."""
    shape = (len(like),) if count is None else (len(like), count)
    numbers = torch.rand(shape, generator=generator, device=generator.device)
    return numbers.to(like.device) * (high - low) + low
