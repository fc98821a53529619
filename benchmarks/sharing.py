"""a ResNet-18 learner with a full memory of 1280, read by the thread that learns and by others."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch

from benchmarks._learner import started
from benchmarks._measure import Row, median_of, row
from scale.methods import SCALE
from scale.methods.core.sharing import Copy


def main(quick: bool = False) -> list[Row]:
    """Time a copy for readers, and embeddings of one image in one thread and in another."""
    return measure(started(quick), 1 if quick else 10)


def measure(learner: SCALE, repeats: int) -> list[Row]:
    """Return a row for the copy that learning waits for, and one for each kind of reader."""
    state = learner.state_dict()
    megabytes = sum(tensor.nbytes for tensor in state.values()) / 1e6
    image = learner.memory_.images[:1]
    with ThreadPoolExecutor(1) as pool:
        copies = median_of(
            {
                "copy": lambda: Copy(learner),
                "bytes": lambda: [tensor.clone() for tensor in state.values()],
            },
            repeats,
        )
        reads = median_of(
            {
                "direct": lambda: learner._in_chunks(SCALE.embed, image),
                "alone": lambda: learner.transform(image),
                "elsewhere": lambda: pool.submit(learner.transform, image).result(),
                "after a batch": lambda: pool.submit(_read_anew, learner, image).result(),
            },
            repeats,
        )
    return [
        row(
            f"copy of {megabytes:.0f} MB for readers",
            copies["copy"] * 1e3,
            limit=("a copy of the bytes", copies["bytes"] * 1e3),
        ),
        row(
            "one image, in the thread that learns",
            reads["alone"] * 1e3,
            limit=("without turns", reads["direct"] * 1e3),
        ),
        row(
            "one image, in another thread",
            reads["elsewhere"] * 1e3,
            ("the first after a batch", reads["after a batch"] * 1e3),
            ("without turns", reads["direct"] * 1e3),
        ),
    ]


def _read_anew(learner: SCALE, image: torch.Tensor) -> None:
    learner._sharing._set_copy(None)  # as a batch does
    learner.transform(image)
