"""peak memory of SCALE's updates with ResNet-18, without that of the imports."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks._learner import images, naive_update, plain_convolutions, update
from benchmarks._measure import Row, row
from scale.methods import SCALE

STORED = 1280  # images in memory
SIZES = ((64, 32), (128, 32), (256, 32), (32, 64))  # n = m, side


def main(quick: bool = False) -> list[Row]:
    """Measure each kind of update in a new process."""
    n, side = (8, 32) if quick else (128, 32)
    ours, naive = measure("ours", n, side), measure("naive", n, side)
    return [
        row(
            f"peak of three updates, n = m = {n}, {side} x {side}",
            ours["peak"],
            ("plain: two passes, own products, nn.Conv2d", naive["peak"]),
            ("weights x 4, memory, saved activations", ours["kept"] + ours["activations"]),
            unit="MB",
        ),
        *by_size(((4, 32), (8, 32)) if quick else SIZES),
    ]


def by_size(sizes: Sequence[tuple[int, int]]) -> list[Row]:
    """Return a row for each size: measured, and by a formula of which two numbers are fitted."""
    found = [measure("ours", n, side) for n, side in sizes]
    activations = np.array([one["activations"] for one in found])
    beside = np.array([one["peak"] - one["kept"] for one in found])
    (factor, constant), *_ = np.linalg.lstsq(
        np.stack([activations, np.ones_like(activations)], 1), beside, rcond=None
    )
    formula = f"weights x 4, memory, {factor:.1f} x saved activations, {constant:.0f} MB"
    return [
        row(
            f"peak of updates, n = m = {n}, {side} x {side}",
            one["peak"],
            limit=(formula, one["kept"] + factor * one["activations"] + constant),
            unit="MB",
        )
        for (n, side), one in zip(sizes, found, strict=True)
    ]


def measure(kind: str, n: int, side: int) -> dict[str, float]:
    """Return the peak and what is kept of a kind of update, in MB, measured in a new process."""
    command = [sys.executable, "-m", "benchmarks.peak_memory", kind, str(n), str(side)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def child(kind: str, n: int, side: int) -> dict[str, float]:
    """Make three updates in this process; return their peak and what they keep, in MB."""
    torch.set_num_threads(1)
    at_start = peak()
    learner = SCALE(memory_size=max(STORED, n), memory_batch=n, steps_per_batch=1)
    learner.start((3, side, side))
    learner.memory_.update(images(max(STORED, n), side=side))
    learner.past_.freeze()
    batch = images(n, seed=1, side=side)
    if kind == "naive":
        plain_convolutions(nn.ModuleList([learner.encoder_, learner.past_.model]))
    for _ in range(3):
        views = learner.draw_views(batch)
        (naive_update if kind == "naive" else update)(learner, views)
    reached = peak()  # before the count below, which holds memory itself
    return {"peak": reached - at_start, **counted(learner, learner.draw_views(batch))}


def peak() -> float:
    """Return the peak memory of this process, in MB; Linux only.

    Not `ru_maxrss`: a child process inherits its parent's.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6


def counted(learner: SCALE, stream_views: Tensor) -> dict[str, float]:
    """Return the sizes of what an update keeps, in MB: a lower bound of its peak.

    ``kept`` is weights, gradients, momentum, the past model's weights and the memory's images;
    ``activations`` what autograd saves for the backward pass, each storage once.
    """
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        learner.losses(stream_views, stream_views)
    weights = {p.data_ptr(): p.numel() * p.element_size() for p in learner.trained()}
    activations = sum(size for pointer, size in kept.items() if pointer not in weights)
    kept_always = 4 * sum(weights.values()) + learner.memory_.images.numel()
    return {"kept": kept_always / 1e6, "activations": activations / 1e6}


if __name__ == "__main__":
    print(json.dumps(child(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
