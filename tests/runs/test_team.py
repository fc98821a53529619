"""A run in two real processes: the same result, a killed process, and going on with one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.gate import Gate
from tests.runs.conftest import Held

pytestmark = pytest.mark.slow
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]


@pytest.fixture
def held(small_set: Path, held_methods: Path) -> Held:
    """Runs of a method whose memory and views do not depend on rounding."""
    return Held(small_set, held_methods, "HeldER")


def arguments(held: Held, out: Path) -> list[str]:
    given = held.arguments(out)
    at = given.index("--clusters")  # of scale-plus only
    return given[:at] + given[at + 2 :]


def start(given: list[str], **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*TORCHRUN, "-m", "scale", *given],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1", **env},
    )


def losses(out: Path) -> list[float]:
    lines = map(json.loads, (out / "metrics.jsonl").read_text().splitlines())
    return [line["loss"] for line in lines if line["kind"] == "batch"]


def follower(torchrun: int) -> int:
    """Return the process of rank 1."""
    for child in Path(f"/proc/{torchrun}/task/{torchrun}/children").read_text().split():
        if b"RANK=1" in Path(f"/proc/{child}/environ").read_bytes().split(b"\0"):
            return int(child)
    raise AssertionError("there is no second process")


def test_two_processes_end_as_one_and_a_killed_one_is_gone_on_without(
    held: Held, gate: Gate, tmp_path: Path
) -> None:
    one, two, killed = tmp_path / "one", tmp_path / "two", tmp_path / "killed"
    assert held.finish(arguments(held, one)).status == 0

    process = start(arguments(held, two))
    output, error = process.communicate()
    assert process.returncode == 0, error
    assert output.count("evaluation at") == 3  # only the leader speaks
    np.testing.assert_allclose(losses(two), losses(one), rtol=0.02)

    process = start(arguments(held, killed), **gate.environment())
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("evaluation at"):
            break
    os.kill(follower(process.pid), signal.SIGKILL)
    with gate.opened():
        _, error = process.communicate()
    assert process.returncode != 0
    assert "scale: another process of this run has ended; the run is saved" in error
    assert not (killed / "summary.json").exists()
    done = held.finish(held.resume(killed))
    assert done.status == 0, done.error
    assert "began with 2 processes and goes on with 1" in done.output
    np.testing.assert_allclose(losses(killed), losses(one), rtol=0.02)


def test_a_users_mistake_ends_both(tmp_path: Path) -> None:
    process = start(["run", "--dataset", str(tmp_path / "nothing"), "--out", str(tmp_path / "out")])
    _, error = process.communicate()
    assert process.returncode != 0
    assert error.count("scale: ") == 1
