"""how costs grow: an update, a batch late in a long stream, a choice of memory."""

from __future__ import annotations

import math

import numpy as np
import torch

from benchmarks._learner import multiply_adds, update
from benchmarks._measure import Row, median_of, row
from benchmarks.peak_memory import peak
from scale.memory import Memory
from scale.methods import SCALE

PASSES = 4  # forward, two for backward, and the past model's
A100 = 9.75e12  # multiply-adds of fp32 a second without tensor cores: its data sheet's 19.5 TFLOPS
PI5 = 4 * 2.4e9 * 8  # 4 cores, 2.4 GHz, two NEON units of 4 multiply-adds each


def main(quick: bool = False) -> list[Row]:
    """Time updates and memory choices of several sizes, and batches of a long stream."""
    return [*updates(quick), stream(20 if quick else 10_000), *memories(quick)]


def updates(quick: bool) -> list[Row]:
    """Return a row for each size: measured, and what one rate for all of them predicts."""
    sizes = [  # encoder, side, n, m
        ("resnet18", 32, 128, 128),
        ("resnet18", 32, 64, 64),
        ("resnet18", 32, 128, 0),
        ("resnet18", 64, 32, 32),
        ("resnet18_cifar", 32, 4, 4),
        ("cnn", 32, 128, 128),
    ]
    sizes = [("cnn", 16, 8, 8), ("cnn", 16, 8, 0)] if quick else sizes
    taken, counts = [], []
    for encoder, side, n, m in sizes:
        seconds, each = timed(encoder, side, n, m)
        taken.append(seconds)
        counts.append(PASSES * 2 * (n + m) * each)
    rate = float(np.exp(np.mean(np.log(np.array(counts) / np.array(taken)))))
    rows = []
    for (encoder, side, n, m), seconds, count in zip(sizes, taken, counts, strict=True):
        name = f"{PASSES} passes x {2 * (n + m)} views x {count / PASSES / 2 / (n + m) / 1e6:.0f} M"
        on_paper = f"A100 {count / A100 * 1e3:.1f} ms, Raspberry Pi 5 {count / PI5:.1f} s at least"
        rows.append(
            row(
                f"update, {encoder}, {side} x {side}, n = {n}, m = {m}",
                seconds * 1e3,
                limit=(f"{name} / {rate / 1e9:.1f} G a second", count / rate * 1e3),
                note=on_paper,
            )
        )
    return rows


def timed(encoder: str, side: int, n: int, m: int) -> tuple[float, float]:
    """Return the seconds of an update of SCALE, and the encoder's multiply-adds for one view."""
    learner = SCALE(encoder=encoder, memory_batch=m, memory_size=max(m, 16), steps_per_batch=1)
    learner.start((3, side, side))
    generator = torch.Generator().manual_seed(0)
    shape = (n + max(m, 16), 3, side, side)
    pictures = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
    learner.memory_.update(pictures[n:])
    learner.past_.freeze()
    runs = {"ours": lambda: update(learner, learner.draw_views(pictures[:n]))}
    seconds = median_of(runs, 2, warm_up=False)["ours"]
    return seconds, multiply_adds(learner.encoder_, learner.draw_views(pictures[:1])[:1])


def stream(length: int) -> Row:
    """Return the row of the last tenth of a stream's batches, beside an early tenth."""
    learner = SCALE(encoder="cnn", memory_size=64, memory_batch=8, steps_per_batch=1)
    pictures = torch.randint(0, 256, (8, 3, 16, 16), dtype=torch.uint8)
    tenth = length // 10
    costs, sizes = [], []
    for _ in range(10):
        runs = {"batch": lambda: learner.partial_fit(pictures)}
        costs.append(median_of(runs, tenth, warm_up=False)["batch"])
        sizes.append(peak())
    return row(
        f"a batch of 8, cnn, 16 x 16: the last {tenth} of {length:,}",
        costs[-1] * 1e3,
        limit=(f"batches {tenth} to {2 * tenth}", costs[1] * 1e3),
        note=f"peak memory grew by {sizes[-1] - sizes[1]:.1f} MB",
    )


def memories(quick: bool) -> list[Row]:
    """Return a row for each size of memory: measured, and by its complexity."""
    sizes = [100, 200] if quick else [1280, 12_800, 100_000]
    formulas = {"psa": ("M log M", lambda m: m * math.log(m)), "minred": ("M²", lambda m: m * m)}
    rows = []
    for policy, (name, growth) in formulas.items():
        taken = [choice(policy, size) for size in sizes]
        # From the middle size: the smallest is mostly overhead.
        for size, seconds in zip(sizes, taken, strict=True):
            predicted = taken[1] * growth(size) / growth(sizes[1])
            formula = (f"{name}, from M = {sizes[1]:,}", predicted * 1e3)
            rows.append(row(f"{policy}, M = {size:,}", seconds * 1e3, limit=formula))
    return rows


def choice(policy: str, size: int, n: int = 128) -> float:
    """Return the seconds to take n images into a full memory, with 32 features of each given."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(size + n, 32, generator=generator).clamp_(min=0)
    images = torch.zeros(size + n, 1, 1, 1, dtype=torch.uint8)
    memory = Memory(size, policy, generator)
    memory.update(images[:size])
    runs = {"ours": lambda: memory.update(images[size:], features)}
    return median_of(runs, 1, warm_up=False)["ours"]
