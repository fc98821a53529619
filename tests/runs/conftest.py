from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image

from scale.cli import main
from scale.runs import Display

QUICK = [
    *("--encoder", "cnn", "--augmentation", "mnist", "--steps-per-batch", "2"),
    *("--stream-batch", "10", "--memory-size", "30", "--memory-batch", "10"),
    *("--clusters", "8", "--evaluations", "6", "--threads", "1"),
    *("--checkpoint-seconds", "0", "--no-pictures"),
]


class Done(NamedTuple):
    """How a command ended."""

    status: int
    output: str
    error: str


class Command:
    """`scale run` on a small dataset: a real process to be stopped, or to the end in this one."""

    def __init__(self, dataset: Path) -> None:
        self.dataset = dataset

    def arguments(self, out: Path, *more: str) -> list[str]:
        return ["run", "--out", str(out), "--dataset", str(self.dataset), *QUICK, *more]

    def resume(self, out: Path) -> list[str]:
        quick = ["--resume", "--no-pictures", "--checkpoint-seconds", "0"]
        return ["run", "--out", str(out), *quick]

    def finish(self, arguments: Sequence[str]) -> Done:
        output, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(error):
            status = main(list(arguments))
        return Done(status, output.getvalue(), error.getvalue())

    def start(self, arguments: Sequence[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "scale", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"},
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
    """Write grey images of each class to its sub-folder."""
    rng = np.random.default_rng(seed)
    for name, count in counts.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for i in range(count):
            pixels = rng.integers(0, 256, (16, 16), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{i:03d}.png")
    return folder


@pytest.fixture(scope="session")
def command(small_set: Path) -> Command:
    return Command(small_set)


@pytest.fixture(scope="session")
def unbroken(command: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was never stopped."""
    out = tmp_path_factory.mktemp("runs") / "unbroken"
    done = command.finish(command.arguments(out))
    assert done.status == 0, done.error
    return out
