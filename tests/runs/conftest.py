from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from scale.runs import Display

QUICK = [
    *("--encoder", "cnn", "--augmentation", "mnist", "--steps-per-batch", "2"),
    *("--stream-batch", "10", "--memory-size", "30", "--memory-batch", "10"),
    *("--evaluations", "12", "--checkpoint-seconds", "0", "--threads", "1", "--no-pictures"),
]


class Command:
    """`scale run` as a real process on a small dataset."""

    def __init__(self, dataset: Path) -> None:
        self.dataset = dataset

    def arguments(self, out: Path, *more: str) -> list[str]:
        start = [sys.executable, "-m", "scale", "run", "--out", str(out)]
        return [*start, "--dataset", str(self.dataset), *QUICK, *more]

    def resume(self, out: Path) -> list[str]:
        quick = ["--resume", "--no-pictures", "--checkpoint-seconds", "0"]
        return [sys.executable, "-m", "scale", "run", "--out", str(out), *quick]

    def finish(self, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(arguments, capture_output=True, text=True, check=False, env=_env())

    def start(self, arguments: Sequence[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=_env()
        )


class Lines(Display):
    """Keeps what a run says."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def message(self, text: str) -> None:
        self.lines.append(text)

    def find(self, part: str) -> list[str]:
        """Return the lines that have this in them."""
        return [line for line in self.lines if part in line]


class StopAt(Lines):
    """Fails after some batches, as a process that is killed does."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def batch(self, record: dict[str, object]) -> None:
        if record["batch"] == self.number:
            raise KeyboardInterrupt


def make_photos(folder: Path, counts: dict[str, int], seed: int = 0) -> Path:
    """Write so many grey images of each class to its sub-folder."""
    rng = np.random.default_rng(seed)
    for name, count in counts.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for i in range(count):
            pixels = rng.integers(0, 256, (16, 16), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{i:03d}.png")
    return folder


def _env() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


@pytest.fixture(scope="session")
def command(small_set: Path) -> Command:
    return Command(small_set)


@pytest.fixture(scope="session")
def unbroken(command: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was never stopped."""
    out = tmp_path_factory.mktemp("runs") / "unbroken"
    done = command.finish(command.arguments(out))
    assert done.returncode == 0, done.stderr
    return out
