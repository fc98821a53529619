"""Time of two views of 256 images: ours, a per-image loop of the same operations, and a copy."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import Tensor

from scale.augment import AUGMENTATIONS, Augmentation, two_views

IMAGES = 256
CASES = (("cifar", (3, 32, 32)), ("tinyimagenet", (3, 64, 64)), ("mnist", (1, 28, 28)))


def per_image_loop(
    images: Tensor, augmentation: Augmentation, generator: torch.Generator
) -> Tensor:
    """Do the same operations one image at a time, as a loader's transforms do."""
    return torch.cat([augmentation(image[None], generator) for image in images.repeat(2, 1, 1, 1)])


def seconds(run: Callable[[], object], repeats: int) -> float:
    """Return the least wall time of `repeats` runs after one to warm up."""
    run()
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
    return best


def measure(name: str, shape: tuple[int, int, int]) -> dict[str, object]:
    """Time one preset and what it is compared with."""
    augmentation, generator = AUGMENTATIONS[name], torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (IMAGES, *shape), dtype=torch.uint8, generator=generator)
    views = two_views(images, augmentation, generator)
    read = images.repeat(2, 1, 1, 1)
    copies = torch.empty_like(read), torch.empty_like(views)

    def copy() -> None:  # reads every image twice and writes every view once: the least there is
        copies[0].copy_(read)
        copies[1].copy_(views)

    ours = seconds(lambda: two_views(images, augmentation, generator), 30)
    loop = seconds(lambda: per_image_loop(images, augmentation, generator), 3)
    limit = seconds(copy, 30)
    return {
        "what": f"two views of {IMAGES} images, {name} {shape[1]}x{shape[2]}",
        "threads": torch.get_num_threads(),
        "ours_ms": ours * 1e3,
        "per_image_torch_loop_ms": loop * 1e3,
        "memory_copy_ms": limit * 1e3,
        "loop_over_ours": loop / ours,
        "ours_over_copy": ours / limit,
    }


def main() -> list[dict[str, object]]:
    """Print the table of times and ratios, and return its rows."""
    rows = [measure(name, shape) for name, shape in CASES]
    titles = list(rows[0])
    print("| " + " | ".join(titles) + " |")
    print("| --- " * len(titles) + "|")
    for row in rows:
        cells = [f"{v:.3g}" if isinstance(v, float) else str(v) for v in row.values()]
        print("| " + " | ".join(cells) + " |")
    return rows


if __name__ == "__main__":
    main()
