"""a ResNet-18 learner with a full memory of 1280 to disk and back."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import torch

from benchmarks._learner import started
from benchmarks._measure import Row, median_of, row
from scale.methods import SCALE, load


def main(quick: bool = False) -> list[Row]:
    """Time saving and loading."""
    with tempfile.TemporaryDirectory() as folder:
        return measure(started(quick), Path(folder), 1 if quick else 3)


def measure(learner: SCALE, folder: Path, repeats: int) -> list[Row]:
    """Return a row for saving and one for loading, beside torch's format and the bare bytes."""
    ours, torchs, plain = folder / "ours.safetensors", folder / "torch.pt", folder / "plain"
    learner.save(ours)
    content = ours.read_bytes()
    megabytes = len(content) / 1e6
    write = median_of(
        {
            "ours": lambda: learner.save(ours),
            "torch": lambda: torch.save(learner.state_dict(), torchs),
            "plain": lambda: write_synced(plain, content),
        },
        repeats,
        clock=time.perf_counter,  # a disk takes its time without the processor
    )
    read = median_of(
        {
            "ours": lambda: load(ours),
            "torch": lambda: torch.load(torchs, weights_only=True),
            "plain": plain.read_bytes,
        },
        repeats,
        clock=time.perf_counter,  # a second core checks the digest meanwhile
    )
    return [
        row(
            f"save of {megabytes:.0f} MB",
            write["ours"] * 1e3,
            ("torch.save: no digest, not synced", write["torch"] * 1e3),
            ("write and fsync of the bytes", write["plain"] * 1e3),
            note=f"{megabytes / write['ours']:.0f} MB/s",
        ),
        row(
            f"load of {megabytes:.0f} MB",
            read["ours"] * 1e3,
            ("torch.load: no digest, no learner", read["torch"] * 1e3),
            ("read of the bytes, cached", read["plain"] * 1e3),
            note=f"{megabytes / read['ours']:.0f} MB/s",
        ),
    ]


def write_synced(path: Path, content: bytes) -> None:
    """Write bytes and wait until they are on the disk."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
