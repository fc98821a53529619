"""peak memory of SCALE's updates, n = m = 128 and ResNet-18, without that of the imports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks._learner import images, naive_update, plain_convolutions, started, update
from benchmarks._measure import Row, row
from scale.methods import SCALE


def main(quick: bool = False) -> list[Row]:
    """Measure each kind of update in a new process."""
    ours, naive = measure("ours", quick), measure("naive", quick)
    return [
        row(
            "peak of three updates",
            ours["peak"],
            ("plain: two passes, own products, nn.Conv2d", naive["peak"]),
            ("weights x 4, memory, saved activations", ours["least"]),
            unit="MB",
        )
    ]


def measure(kind: str, quick: bool) -> dict[str, float]:
    """Return the peak and the lower bound of a kind of update, in MB."""
    command = [sys.executable, "-m", "benchmarks.peak_memory", kind, str(int(quick))]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def child(kind: str, quick: bool) -> dict[str, float]:
    """Make three updates in this process; return their peak and their lower bound, in MB."""
    at_start = peak()
    learner = started(quick)
    batch = images(learner.memory_batch, seed=1)
    if kind == "naive":
        plain_convolutions(nn.ModuleList([learner.encoder_, learner.past_.model]))
    for _ in range(3):
        views = learner.draw_views(batch)
        (naive_update if kind == "naive" else update)(learner, views)
    reached = peak()  # before the count below, which holds memory itself
    return {"peak": reached - at_start, "least": least(learner, learner.draw_views(batch))}


def peak() -> float:
    """Return the peak memory of this process, in MB; Linux only.

    Not `ru_maxrss`: a child process inherits its parent's.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6


def least(learner: SCALE, stream_views: Tensor) -> float:
    """Return a lower bound on the memory of this update, in MB.

    It counts weights, gradients, momentum and the past model's weights, the memory's images, and
    the tensors that autograd saves for the backward pass, each storage once.
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
    memory = learner.memory_.images
    return (4 * sum(weights.values()) + memory.numel() + activations) / 1e6


if __name__ == "__main__":
    print(json.dumps(child(sys.argv[1], sys.argv[2] == "1")))
