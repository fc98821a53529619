"""one update of SCALE with ResNet-18 at n = m = 128: 512 views through encoder and past model."""

from __future__ import annotations

import time

import torch
from torch import Tensor, nn

from benchmarks._learner import (
    images,
    multiply_adds,
    naive_update,
    plain_convolutions,
    started,
    update,
)
from benchmarks._measure import Row, median_of, multiply_adds_per_second, row
from scale.methods import SCALE


def main(quick: bool = False) -> list[Row]:
    """Time whole updates, then the parts of one."""
    anew, once, naive = started(quick), started(quick, views="once"), started(quick)
    plain_convolutions(nn.ModuleList([naive.encoder_, naive.past_.model]))
    batch = images(naive.memory_batch, seed=1)
    views = anew.draw_views(batch)
    repeats = 1 if quick else 2
    best = median_of(
        {
            "anew": lambda: update(anew, anew.draw_views(batch)),
            "once": lambda: update(once, views),
            "naive anew": lambda: naive_update(naive, naive.draw_views(batch)),
            "naive once": lambda: naive_update(naive, views),
        },
        repeats,
    )
    # Forward passes: one, two for backward, and one or half of one for the past model.
    passes = {"anew": 4.0, "once": 3.5}
    rate = multiply_adds_per_second(anew.precision_)
    least = multiply_adds(anew.encoder_, views[:1]) * 2 * len(views) / rate
    whole = [
        row(
            f"update, stream views drawn {mode}",
            best[mode] * 1e3,
            ("plain: two passes, own products, nn.Conv2d", best[f"naive {mode}"] * 1e3),
            (
                f"direct convolution at the rate of a 1024^3 {anew.precision_} product",
                least * count * 1e3,
            ),
            note=f"{2 * len(views) / best[mode]:.0f} views/s",
        )
        for mode, count in passes.items()
    ]
    return whole + parts(anew, batch, repeats)


def parts(learner: SCALE, batch: Tensor, repeats: int) -> list[Row]:
    """Return the time of each part of an update and its share of the whole."""
    best: dict[str, float] = {}
    for _ in range(repeats):
        for name, seconds in timed_update(learner, batch).items():
            best[name] = min(best.get(name, seconds), seconds)
    whole = sum(best.values())
    return [
        row(f"  {name}", seconds * 1e3, note=f"{seconds / whole:.0%}")
        for name, seconds in best.items()
    ]


def timed_update(learner: SCALE, batch: Tensor) -> dict[str, float]:
    """Make one update part by part, and return the seconds of each."""
    clock = [time.perf_counter()]
    stream_views = learner.draw_views(batch)
    memory_views = learner.draw_views(learner.memory_.sample(learner.memory_batch))
    clock.append(time.perf_counter())
    z = learner.project(torch.cat([stream_views, memory_views]))
    clock.append(time.perf_counter())
    similarity = learner._past_similarity(stream_views, memory_views)
    clock.append(time.perf_counter())
    # Reuse both passes, so that only the losses themselves are timed.
    learner.__dict__ |= {
        "project": lambda views: z,
        "_past_similarity": lambda stream, memory: similarity,
    }
    loss = learner.losses(stream_views, memory_views)["loss"]
    del learner.__dict__["project"], learner.__dict__["_past_similarity"]
    clock.append(time.perf_counter())
    learner.optimizer_.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    clock.append(time.perf_counter())
    learner.optimizer_.step()
    clock.append(time.perf_counter())
    names = ("views", "forward", "past forward", "losses", "backward", "optimiser step")
    return {
        name: end - start for name, start, end in zip(names, clock[:-1], clock[1:], strict=True)
    }
