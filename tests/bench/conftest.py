from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scale.bench import BenchFolder, HowToRun, InProcess, drive, load_experiment, plan
from scale.bench.display import BenchDisplay
from scale.cli import main
from tests.processes import Started, start

TINY = """\
title = "Tiny"
shows = "Nothing; it is for tests."
kind = "table"

[base]
dataset = "{dataset}"
stream_batch = 20
evaluations = 3
encoder = "cnn"
augmentation = "mnist"
steps_per_batch = 1
memory_size = 30
memory_batch = 10

[axes]
seeds = 1

[variants.er]
method = "er"

[variants.simclr]
method = "simclr"
"""


class Bench:
    """`scale bench` as a real process on a small experiment."""

    def __init__(self, experiment: Path) -> None:
        self.experiment = experiment

    def start(self, out: Path, *more: str) -> Started:
        command = ["bench", str(self.experiment), "--out", str(out)]
        return start([*command, "--checkpoint-seconds", "0", *more])

    def finish(self, out: Path) -> tuple[int, str]:
        """Go on with a stopped bench in this process; return its status and output."""
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            line = ["bench", str(self.experiment), "--out", str(out), "--engine", "in-process"]
            status = main(line)
        return status, output.getvalue()


@pytest.fixture(scope="session")
def tiny(small_set: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An experiment of two short runs."""
    path = tmp_path_factory.mktemp("experiments") / "tiny.toml"
    path.write_text(TINY.format(dataset=small_set))
    return path


@pytest.fixture(scope="session")
def bench(tiny: Path) -> Bench:
    return Bench(tiny)


@pytest.fixture(scope="session")
def unbroken(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a bench that was never stopped."""
    folder = BenchFolder(tmp_path_factory.mktemp("bench") / "unbroken")
    how = HowToRun(checkpoint_seconds=0.0)
    result = drive(plan(load_experiment(str(tiny))), folder, InProcess(folder, how), BenchDisplay())
    assert (result.done, result.failed) == (2, [])
    return folder.path


@pytest.fixture
def records() -> Callable[[Path], dict[str, Any]]:
    """Return a function that reads a bench's records by job, without what depends on time."""

    def read(folder: Path) -> dict[str, Any]:
        lines = (folder / "records.jsonl").read_text().splitlines()
        found = {}
        for record in map(json.loads, lines):
            del record["summary"]["timing"]
            record["code"] = record["code"]["digest"]  # a commit may come while tests run
            found[record["job"]] = record
        assert len(found) == len(lines), "a job has two records"
        return found

    return read
