"""Benches as real processes that are killed, interrupted, and started twice."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bench.conftest import Bench
from tests.gate import Gate
from tests.processes import Started

Read = Callable[[Path], dict[str, Any]]


BEGUN = "images in 6 batches"
EVALUATED = "evaluation at"
STOPPING = "finishing this batch"


def wait_for(process: Started, out: Path, method: str, what: str) -> Path:
    """Wait until the log of a method's run says something; return the run's folder."""
    while process.poll() is None:
        for log in out.glob(f"runs/held.py-{method}-*/log.txt"):
            if what in log.read_text():
                return log.parent
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.05)
    pytest.fail(f"the bench ended before: {process.communicate()[1]}")


def starts(folder: Path) -> int:
    """Return how many times a run was begun or gone on with."""
    return (folder / "log.txt").read_text().count(BEGUN)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["pool", "in-process"])
def test_a_killed_bench_goes_on_with_the_run_it_was_at(
    bench: Bench, held_unbroken: Path, gate: Gate, tmp_path: Path, records: Read, engine: str
) -> None:
    options = ["--engine", engine, *(["--workers", "1"] if engine == "pool" else [])]
    process = bench.start(tmp_path, *options, **gate.environment("HeldSimCLR"))
    stopped = wait_for(process, tmp_path, "HeldSimCLR", EVALUATED)
    process.kill()
    process.communicate()
    (done,) = tmp_path.glob("runs/held.py-HeldER-*")
    before = (done / "summary.json").stat()
    with gate.opened():  # of the pool's worker, which gives up when nobody waits for it
        status, output = bench.finish(tmp_path)
    assert status == 0
    assert "1 of them done already" in output
    assert (done / "summary.json").stat() == before, "a finished run is not run again"
    assert starts(done) == 1
    assert starts(stopped) == 2
    assert "going on from image" in (stopped / "log.txt").read_text()
    assert records(tmp_path) == records(held_unbroken)


@pytest.mark.slow
@pytest.mark.usefixtures("default_signals")
def test_an_interrupted_bench_saves_its_runs_and_names_the_command_that_goes_on(
    bench: Bench, held_unbroken: Path, gate: Gate, tmp_path: Path, records: Read
) -> None:
    options = ["--workers", "1", "--checkpoint-seconds", "1000"]
    process = bench.start(tmp_path, *options, **gate.environment("HeldER"))
    run = wait_for(process, tmp_path, "HeldER", EVALUATED)
    process.send_signal(signal.SIGINT)
    wait_for(process, tmp_path, "HeldER", STOPPING)
    with gate.opened():
        _, error = process.communicate()
    assert process.returncode == 130, error
    assert f"go on with: scale bench {bench.experiment} --out {tmp_path}" in error
    assert "Traceback" not in error
    assert [path.name for path in tmp_path.glob("runs/*")] == [run.name]
    assert not (run / "summary.json").exists()
    assert len(list(run.glob("checkpoints/*.safetensors"))) == 1
    assert bench.finish(tmp_path)[0] == 0
    assert records(tmp_path) == records(held_unbroken)


@pytest.mark.slow
@pytest.mark.usefixtures("default_signals")
def test_a_bench_without_a_reader_goes_on_and_a_hangup_saves_it(
    bench: Bench, held_unbroken: Path, gate: Gate, tmp_path: Path, records: Read
) -> None:
    process = bench.start(tmp_path, "--workers", "1", **gate.environment("HeldSimCLR"))
    assert process.stdout is not None
    assert process.stdout.readline().startswith("2 runs")
    process.stdout.close()
    wait_for(process, tmp_path, "HeldSimCLR", EVALUATED)  # the second run, after many lines
    process.send_signal(signal.SIGHUP)
    wait_for(process, tmp_path, "HeldSimCLR", STOPPING)
    assert process.stderr is not None
    with gate.opened():
        lost, stopped = process.stderr.read().splitlines()
        assert process.wait() == 130
    assert "the output cannot be written (Broken pipe)" in lost
    assert f"stopped and saved; go on with: scale bench {bench.experiment}" in stopped
    assert bench.finish(tmp_path)[0] == 0
    assert records(tmp_path) == records(held_unbroken)


@pytest.mark.slow
def test_a_run_that_is_killed_fails_alone(bench: Bench, gate: Gate, tmp_path: Path) -> None:
    process = bench.start(tmp_path, "--workers", "2", **gate.environment())
    for method in ("HeldER", "HeldSimCLR"):
        wait_for(process, tmp_path, method, EVALUATED)
    workers = subprocess.run(
        ["pgrep", "--parent", str(process.pid)], capture_output=True, text=True, check=True
    ).stdout.split()
    assert len(workers) == 2
    os.kill(int(workers[0]), signal.SIGKILL)
    with gate.opened():
        output, _ = process.communicate()
    assert process.returncode == 1
    assert "killed by SIGKILL" in output
    assert "1 runs done (0 before) and 1 failed" in output


@pytest.mark.slow
def test_two_benches_at_once_share_the_work_and_run_nothing_twice(
    bench: Bench, held_unbroken: Path, tmp_path: Path, records: Read
) -> None:
    first = bench.start(tmp_path, "--engine", "in-process")
    second = bench.start(tmp_path, "--engine", "in-process")
    for process in (first, second):
        output, error = process.communicate()
        assert process.returncode == 0, error
        assert "2 runs done" in output
    assert records(tmp_path) == records(held_unbroken)
    assert [starts(folder) for folder in (tmp_path / "runs").iterdir()] == [1, 1]
