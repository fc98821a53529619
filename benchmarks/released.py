"""SCALE beside a plain transcription of the released code, n = m = 128, ResNet-18."""

from __future__ import annotations

import random

import torch

from benchmarks._learner import images, started, update
from benchmarks._measure import Row, best_of, row
from benchmarks._released import Released, pictures, views


def main(quick: bool = False) -> list[Row]:
    """Time an update with and without its views, and the features for the choice of memory."""
    ours, theirs = started(quick), Released()
    n, size = ours.memory_batch, ours.memory_size
    batch, memory, rng = images(n, seed=1), images(size), random.Random(0)
    stream_pictures = pictures(batch)
    memory_pictures = pictures(images(n, seed=2))
    ready = ours.draw_views(batch)
    fixed = views(stream_pictures, rng), views(memory_pictures, rng)
    candidates = (torch.cat([memory, batch]).float() / 255 - 0.5) / 0.25

    def step() -> None:  # our views are drawn beforehand too
        ours.step(ours.losses(ready, memory_views))

    memory_views = ours.draw_views(images(n, seed=2))
    best = best_of(
        {
            "update": step,
            "their update": lambda: theirs.update(*fixed),
            "with views": lambda: update(ours, ours.draw_views(batch)),
            "their update with views": lambda: theirs.update(
                views(stream_pictures, rng), views(memory_pictures, rng)
            ),
            "memory": lambda: ours.memory_features(batch),
            "their memory": lambda: theirs.memory_features(candidates),
        },
        1 if quick else 3,
    )
    plain = "the released code's shape in plain PyTorch"
    return [
        row("update, views ready", best["update"] * 1e3, (plain, best["their update"] * 1e3)),
        row(
            "update with its views",
            best["with views"] * 1e3,
            (f"{plain}, views by Pillow", best["their update with views"] * 1e3),
        ),
        row(
            f"features of {size + n} images to choose the memory",
            best["memory"] * 1e3,
            (f"{plain}, in training mode", best["their memory"] * 1e3),
        ),
    ]
