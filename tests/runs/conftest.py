from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

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
