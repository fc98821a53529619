"""how the cost of an update and of a choice of memory grows, beside a formula."""

from __future__ import annotations

import math
import time

import numpy as np
import torch

from benchmarks._learner import multiply_adds, update
from benchmarks._measure import Row, best_of, row
from scale.memory import Memory
from scale.methods import SCALE

PASSES = 4  # forward, two for backward, and the past model's
A100 = 9.75e12  # multiply-adds of fp32 a second without tensor cores: its data sheet's 19.5 TFLOPS
PI5 = 4 * 2.4e9 * 8  # 4 cores, 2.4 GHz, two NEON units of 4 multiply-adds each


def main(quick: bool = False) -> list[Row]:
    """Time updates and memory choices of several sizes."""
    return [*updates(quick), *memories(quick)]


def updates(quick: bool) -> list[Row]:
    """Return a row for each size: measured, and what one rate for all of them predicts."""
    sizes = [  # encoder, side, n, m
        ("resnet18", 32, 128, 128),
        ("resnet18", 32, 64, 64),
        ("resnet18", 32, 128, 0),
        ("resnet18", 32, 256, 128),
        ("resnet18", 64, 64, 64),
        ("cnn", 32, 128, 128),
    ]
    sizes = [("cnn", 16, 8, 8), ("cnn", 16, 8, 0)] if quick else sizes
    taken, counts = [], []
    for encoder, side, n, m in sizes:
        seconds, each = timed(encoder, side, n, m, 1 if quick else 2)
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


def timed(encoder: str, side: int, n: int, m: int, repeats: int) -> tuple[float, float]:
    """Return the seconds of an update of SCALE, and the encoder's multiply-adds for one view."""
    learner = SCALE(encoder=encoder, memory_batch=m, memory_size=max(m, 16), steps_per_batch=1)
    learner.start((3, side, side))
    generator = torch.Generator().manual_seed(0)
    shape = (n + max(m, 16), 3, side, side)
    pictures = torch.randint(0, 256, shape, dtype=torch.uint8, generator=generator)
    learner.memory_.update(pictures[n:])
    learner.past_.freeze()
    best = best_of({"ours": lambda: update(learner, learner.draw_views(pictures[:n]))}, repeats)
    return best["ours"], multiply_adds(learner.encoder_, learner.draw_views(pictures[:1])[:1])


def memories(quick: bool) -> list[Row]:
    """Return a row for each size of memory: measured, and predicted from the smallest."""
    sizes = {"psa": [100, 200], "minred": [100, 200]}
    if not quick:
        sizes = {"psa": [1280, 12_800, 100_000], "minred": [1280, 6400, 12_800]}
    formulas = {"psa": ("M log M", lambda m: m * math.log(m)), "minred": ("M²", lambda m: m * m)}
    rows = []
    for policy, counts in sizes.items():
        name, growth = formulas[policy]
        taken = [choice(policy, size) for size in counts]
        for size, seconds in zip(counts, taken, strict=True):
            predicted = taken[0] * growth(size) / growth(counts[0])
            note = ""
            if policy == "minred" and size == counts[-1]:
                at_most = seconds * growth(100_000) / growth(size)
                note = f"M = 100,000 by the formula: {at_most:.0f} s"
            formula = (f"{name}, from M = {counts[0]}", predicted * 1e3)
            rows.append(row(f"{policy}, M = {size}", seconds * 1e3, limit=formula, note=note))
    return rows


def choice(policy: str, size: int, n: int = 128) -> float:
    """Return the seconds to take n images into a full memory of that size, features given."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(size + n, 512, generator=generator).clamp_(min=0)
    images = torch.zeros(size + n, 1, 1, 1, dtype=torch.uint8)
    memory = Memory(size, policy, generator)
    memory.update(images[:size])
    start = time.perf_counter()
    memory.update(images[size:], features)
    return time.perf_counter() - start
