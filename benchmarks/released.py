"""an update of SCALE beside a plain transcription of the released code, n = m = 128, ResNet-18."""

from __future__ import annotations

import random

import torch

from benchmarks._learner import images, multiply_adds, started
from benchmarks._measure import Row, median_of, multiply_adds_per_second, row
from benchmarks._released import Released, pictures, views

PASSES = 4  # forward, two for backward, and the past model's
FEATURES = 256  # images whose features are timed


def main(quick: bool = False) -> list[Row]:
    """Time an update, its views, and features for the choice of memory."""
    ours, theirs = started(quick), Released()
    n, rng = ours.memory_batch, random.Random(0)
    batch, replayed = images(n, seed=1), images(n, seed=2)
    ready = ours.draw_views(batch), ours.draw_views(replayed)
    pairs = pictures(batch), pictures(replayed)
    fixed = views(pairs[0], rng), views(pairs[1], rng)
    chosen = images(16 if quick else FEATURES, seed=3)
    candidates = (chosen.float() / 255 - 0.5) / 0.25
    cost = median_of(
        {
            "update": lambda: ours.step(ours.losses(*ready)),
            "their update": lambda: theirs.update(*fixed),
            "views": lambda: [ours.draw_views(part) for part in (batch, replayed)],
            "their views": lambda: [views(part, rng) for part in pairs],
            "features": lambda: ours._features(chosen),
            "their features": lambda: theirs.memory_features(candidates),
        },
        1 if quick else 3,
        warm_up=quick,
    )
    cost |= {f"{who}both": cost[f"{who}update"] + cost[f"{who}views"] for who in ("", "their ")}
    views_each = 2 * sum(map(len, pairs))
    least = PASSES * views_each * multiply_adds(ours.encoder_, torch.zeros(1, 3, 32, 32))
    seconds = least / multiply_adds_per_second(ours.precision_)
    limit = (f"direct convolution at the rate of a 1024^3 {ours.precision_} product", seconds * 1e3)
    plain = "the released code's shape in plain PyTorch"
    rows = [
        ("update, views ready", "update", plain, limit),
        ("update with its views", "both", f"{plain}, views by Pillow", limit),
        (f"the views alone, {views_each}", "views", "Pillow, an image at a time", None),
        (
            f"features of {len(chosen)} images in memory",
            "features",
            f"{plain}, training mode",
            None,
        ),
    ]
    return [
        row(
            what,
            cost[key] * 1e3,
            (beside, cost[f"their {key}"] * 1e3),
            bound,
        )
        for what, key, beside, bound in rows
    ]
