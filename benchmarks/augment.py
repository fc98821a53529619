"""two random views of each image of a batch."""

from __future__ import annotations

import kornia.augmentation as K
import torch
from torch import Tensor, nn

from benchmarks._measure import Row, median_of, row
from scale.augment import AUGMENTATIONS, Augmentation, two_views

CASES = (("cifar", (3, 32, 32)), ("tinyimagenet", (3, 64, 64)), ("mnist", (1, 28, 28)))


def main(quick: bool = False) -> list[Row]:
    """Time the presets of the paper's datasets, against kornia and against a loop over images."""
    images, repeats = (8, 1) if quick else (256, 5)
    return [cells for name, shape in CASES for cells in measure(name, shape, images, repeats)]


def measure(name: str, shape: tuple[int, int, int], images: int, repeats: int) -> list[Row]:
    """Return the rows of one preset: beside kornia, and beside a loop over images."""
    augmentation, generator = AUGMENTATIONS[name], torch.Generator().manual_seed(0)
    batch = torch.randint(0, 256, (images, *shape), dtype=torch.uint8, generator=generator)
    views = two_views(batch, augmentation, generator)
    theirs = kornia_views(augmentation, views.shape[2:])
    if theirs(as_floats(batch)).shape != views.shape:
        raise AssertionError(f"kornia's views of {name} have another shape")
    read = batch.repeat(2, 1, 1, 1)
    copies = torch.empty_like(read), torch.empty_like(views)

    def copy() -> None:  # a lower bound: read every image twice, write every view once
        copies[0].copy_(read)
        copies[1].copy_(views)

    runs = {
        "ours": lambda: two_views(batch, augmentation, generator),
        "kornia": lambda: theirs(as_floats(batch)),
        "copy": copy,
    }
    best = median_of(runs, repeats)
    loop = median_of(
        {"loop": lambda: per_image_loop(batch, augmentation, generator)}, 1, warm_up=False
    )["loop"]
    what = f"two views of {images} images, {name} {shape[1]}x{shape[2]}"
    ours, limit = best["ours"] * 1e3, ("copy of images and views", best["copy"] * 1e3)
    return [
        row(what, ours, ("kornia, a batch at a time", best["kornia"] * 1e3), limit),
        row(f"{what}, in a loop", ours, ("ours, an image at a time", loop * 1e3), limit),
    ]


def as_floats(images: Tensor) -> Tensor:
    """Return each image twice, in [0, 1]."""
    return images.repeat(2, 1, 1, 1).float().div_(255)


def kornia_views(law: Augmentation, size: torch.Size) -> nn.Module:
    """Return the same operations in kornia, with random numbers for each image."""
    steps: list[nn.Module] = []
    if law.crop_scale != (1.0, 1.0):
        steps.append(
            K.RandomResizedCrop(
                (size[0], size[1]),
                law.crop_scale,
                law.crop_ratio,
                resample=law.interpolation,
                cropping_mode="resample",  # "slice" loops over the images
            )
        )
    if law.flip:
        steps.append(K.RandomHorizontalFlip(law.flip))
    if law.rotation or law.shear:
        shift = (law.translate, law.translate)
        steps.append(K.RandomAffine(law.rotation, shift, law.zoom, law.shear, p=1.0))
    if law.saturation or law.hue:
        colours = (law.brightness, law.contrast, law.saturation, law.hue)
        steps.append(K.ColorJitter(*colours, p=law.jitter, order=(0, 1, 2, 3)))
    elif law.jitter:
        for kind, most in ((K.RandomBrightness, law.brightness), (K.RandomContrast, law.contrast)):
            steps.append(kind((1 - most, 1 + most), p=law.jitter))
    if law.grey:
        steps.append(K.RandomGrayscale(p=law.grey))
    return nn.Sequential(*steps)


def per_image_loop(
    images: Tensor, augmentation: Augmentation, generator: torch.Generator
) -> Tensor:
    """Do our operations one image at a time, as a loader's transforms do."""
    return torch.cat([augmentation(image[None], generator) for image in images.repeat(2, 1, 1, 1)])
