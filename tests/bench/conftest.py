from __future__ import annotations

import contextlib
import io
import json
import os
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

    def start(self, out: Path, *more: str, **env: str) -> Started:
        command = ["bench", str(self.experiment), "--out", str(out)]
        every = ["--checkpoint-seconds", "0"]
        return start([*command, *every, *more], env={**os.environ, **env})

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
def bench(tiny: Path, held_methods: Path) -> Bench:
    """The same with methods that wait at a gate."""
    text = tiny.read_text()
    for method, held in (("er", "HeldER"), ("simclr", "HeldSimCLR")):
        text = text.replace(f'method = "{method}"', f'method = "{held_methods}:{held}"')
    path = tiny.with_name("held.toml")
    path.write_text(text)
    return Bench(path)


@pytest.fixture(scope="session")
def unbroken(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a bench that was never stopped."""
    return never_stopped(tiny, tmp_path_factory.mktemp("bench") / "unbroken")


@pytest.fixture(scope="session")
def held_unbroken(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of methods that could have waited."""
    return never_stopped(bench.experiment, tmp_path_factory.mktemp("bench") / "held")


def never_stopped(experiment: Path, out: Path) -> Path:
    """Run to the end; return the bench's folder."""
    folder = BenchFolder(out)
    engine = InProcess(folder, HowToRun(checkpoint_seconds=0.0))
    result = drive(plan(load_experiment(str(experiment))), folder, engine, BenchDisplay())
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
