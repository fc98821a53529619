from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image

from scale.cli import main
from scale.runs import Display
from tests.processes import Started, start

QUICK = [
    *("--encoder", "cnn", "--augmentation", "mnist", "--steps-per-batch", "1"),
    *("--stream-batch", "20", "--memory-size", "30", "--memory-batch", "10"),
    *("--clusters", "8", "--evaluations", "3", "--threads", "1"),
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

    def start(self, arguments: Sequence[str], **env: str) -> Started:
        return start(arguments, env={**os.environ, **env})


class Held(Command):
    """Runs that wait in their fifth batch of six, so that a signal meets them while they learn.

    They wait in processes that have the environment of a gate, until it is opened.
    """

    def __init__(self, dataset: Path, file: Path, method: str) -> None:
        super().__init__(dataset)
        self.method = f"{file}:{method}"

    def arguments(self, out: Path, *more: str) -> list[str]:
        return super().arguments(out, "--method", self.method, *more)


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
def held(small_set: Path, held_methods: Path) -> Held:
    return Held(small_set, held_methods, "HeldPlus")


@pytest.fixture(scope="session")
def unbroken(command: Command, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was never stopped."""
    return never_stopped(command, tmp_path_factory.mktemp("runs"))


@pytest.fixture(scope="session")
def held_unbroken(held: Held, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that could have been held, and was never stopped."""
    return never_stopped(held, tmp_path_factory.mktemp("runs"))


def never_stopped(command: Command, folder: Path) -> Path:
    """Run to the end; return the run's folder."""
    out = folder / "unbroken"
    done = command.finish(command.arguments(out))
    assert done.status == 0, done.error
    return out
