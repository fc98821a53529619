"""two random views of each image of a batch."""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks._measure import Row, best_of, row
from scale.augment import AUGMENTATIONS, Augmentation, two_views

CASES = (("cifar", (3, 32, 32)), ("tinyimagenet", (3, 64, 64)), ("mnist", (1, 28, 28)))


def main(quick: bool = False) -> list[Row]:
    """Time the presets of the paper's datasets."""
    return [measure(name, shape, 8 if quick else 256, 1 if quick else 20) for name, shape in CASES]


def measure(name: str, shape: tuple[int, int, int], images: int, repeats: int) -> Row:
    """Time one preset and what it is compared with."""
    augmentation, generator = AUGMENTATIONS[name], torch.Generator().manual_seed(0)
    batch = torch.randint(0, 256, (images, *shape), dtype=torch.uint8, generator=generator)
    views = two_views(batch, augmentation, generator)
    read = batch.repeat(2, 1, 1, 1)
    copies = torch.empty_like(read), torch.empty_like(views)

    def copy() -> None:  # reads every image twice and writes every view once: the least there is
        copies[0].copy_(read)
        copies[1].copy_(views)

    runs = {"ours": lambda: two_views(batch, augmentation, generator), "copy": copy}
    best = best_of(runs, repeats)
    loop = best_of({"loop": lambda: per_image_loop(batch, augmentation, generator)}, 2)["loop"]
    return row(
        f"two views of {images} images, {name} {shape[1]}x{shape[2]}",
        best["ours"] * 1e3,
        ("the same operations, image by image", loop * 1e3),
        ("copy of images and views", best["copy"] * 1e3),
    )


def per_image_loop(
    images: Tensor, augmentation: Augmentation, generator: torch.Generator
) -> Tensor:
    """Do the same operations one image at a time, as a loader's transforms do."""
    return torch.cat([augmentation(image[None], generator) for image in images.repeat(2, 1, 1, 1)])
