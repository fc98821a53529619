"""taking a batch of 128 into a full memory of 1280 (the paper's Table 6)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from benchmarks._measure import Row, median_of, row
from scale.memory import POLICIES, Memory
from scale.methods import SCALE

CLASSES = 10
PAPER = {"random": 0.40, "kmeans": 1.51, "minred": 1.05, "psa": 0.95}  # seconds, on its machine


def main(quick: bool = False) -> list[Row]:
    """Time every policy with given features and labels, then PSA with computing its features."""
    size, n = (64, 16) if quick else (1280, 128)
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (size + n, 3, 32, 32), dtype=torch.uint8, generator=generator)
    features = torch.randn(size + n, 512, generator=generator).clamp_(min=0)
    labels = torch.randint(0, CLASSES, (size + n,), generator=generator)
    memories = {name: full(name, images[:size], labels[:size]) for name in POLICIES}
    batch = images[size:], features, {"labels": labels[size:]}
    runs: dict[str, Callable[[], object]] = {
        name: partial(memory.update, *batch) for name, memory in memories.items()
    }
    best = median_of(runs, 1 if quick else 3)
    rows = [
        row(f"{name}, features given", best[name] * 1e3, paper(name), copy_of(images))
        for name in POLICIES
    ]
    return [*rows, with_features(images, n, 1)]


def full(policy: str, images: Tensor, labels: Tensor) -> Memory:
    """Return a memory that is full of these images."""
    memory = Memory(len(images), policy, torch.Generator().manual_seed(0), CLASSES)
    memory.update(images, columns={"labels": labels})
    return memory


def with_features(images: Tensor, n: int, repeats: int) -> Row:
    """Time PSA together with its ResNet-18 features, the cost of a batch in a run."""
    learner = SCALE(memory_size=len(images) - n)
    learner.start((3, 32, 32))
    learner.memory_.update(images[:-n])
    best = median_of({"ours": lambda: learner.remember(images[-n:])}, repeats, warm_up=False)
    what = f"psa and the ResNet-18 features of {len(images)} images"
    return row(what, best["ours"] * 1e3, paper("psa"), copy_of(images))


def paper(policy: str) -> tuple[str, float] | None:
    """Return the paper's value, if it has one; the paper does not say what it includes."""
    if policy not in PAPER:
        return None
    return "the paper's, on its machine", PAPER[policy] * 1e3


def copy_of(images: Tensor) -> tuple[str, float]:
    """Return the time to copy memory and batch once."""
    return "copy of the images", median_of({"copy": images.clone}, 5)["copy"] * 1e3
