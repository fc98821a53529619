"""A run that is stopped in any way and resumed ends as one that was not, bit for bit."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scale._errors import ScaleError
from scale.commands.run import parse_run
from scale.runs import Display, RunConfig, run
from tests.gate import Gate
from tests.processes import Started
from tests.runs.conftest import Command, Held, StopAt


def wait_for_evaluation(process: Started, number: int) -> None:
    """Read the process's output until its evaluation `number`."""
    assert process.stdout is not None
    seen = 0
    for line in process.stdout:
        seen += line.startswith("evaluation at")
        if seen == number:
            return
    pytest.fail(f"the run ended before evaluation {number}: {process.communicate()[1]}")


def kill_after(held: Held, arguments: list[str], evaluations: int, gate: Gate) -> None:
    """Kill a run while it works."""
    process = held.start(arguments, **gate.environment())
    wait_for_evaluation(process, evaluations)
    process.kill()
    process.communicate()


def assert_same_run(one: Path, other: Path) -> None:
    for name in ("metrics.jsonl", "learner.safetensors", "floors.json"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    samples = sorted(path.name for path in (one / "memory").iterdir())
    assert samples == sorted(path.name for path in (other / "memory").iterdir())
    for name in samples:
        assert (one / "memory" / name).read_bytes() == (other / "memory" / name).read_bytes(), name


@pytest.mark.slow
def test_killed_twice_at_random_moments_and_resumed_equals_the_unbroken_run(
    held: Held, held_unbroken: Path, gate: Gate, tmp_path: Path
) -> None:
    out = tmp_path / "killed"
    moment = int(np.random.default_rng(os.getpid()).integers(1, 3))
    kill_after(held, held.arguments(out), moment, gate)
    again = held.start(held.resume(out), **gate.environment())
    assert again.stdout is not None
    assert any("going on from image" in line for line in again.stdout)
    again.kill()
    again.communicate()
    assert not (out / "summary.json").exists()
    done = held.finish(held.resume(out))
    assert done.status == 0, done.error
    assert_same_run(out, held_unbroken)


@pytest.mark.slow
def test_killed_before_the_first_checkpoint_starts_again(
    held: Held, held_unbroken: Path, gate: Gate, tmp_path: Path
) -> None:
    out = tmp_path / "early"
    kill_after(held, held.arguments(out, "--checkpoint-seconds", "1000"), 2, gate)
    assert not list((out / "checkpoints").glob("*"))
    assert held.finish(held.resume(out)).status == 0
    assert_same_run(out, held_unbroken)


@pytest.mark.slow
@pytest.mark.usefixtures("default_signals")
@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_saves_and_names_the_command_that_resumes(
    held: Held, held_unbroken: Path, gate: Gate, tmp_path: Path, sig: int
) -> None:
    out = tmp_path / "the camera"
    arguments = held.arguments(out, "--checkpoint-seconds", "1000")
    process = held.start(arguments, **gate.environment())
    wait_for_evaluation(process, 2)
    process.send_signal(sig)
    with gate.opened():
        error = process.communicate()[1]
    assert process.returncode == 130
    assert shlex.join(["scale", "run", "--out", str(out), "--resume"]) in error
    assert "Traceback" not in error
    assert len(list((out / "checkpoints").glob("*.safetensors"))) == 1
    assert held.finish(held.resume(out)).status == 0
    assert_same_run(out, held_unbroken)


def wait_until_loading(process: Started, out: Path) -> None:
    """Return when the process has taken its folder; data from a pipe keeps it there."""
    while not (out / ".lock").exists():
        assert process.poll() is None, process.communicate()[1]
        os.sched_yield()


@pytest.mark.slow
def test_killed_while_the_images_load_the_same_command_starts_again(
    command: Command, unbroken: Path, tmp_path: Path
) -> None:
    out, data = tmp_path / "supervised", tmp_path / "data.npz"
    os.mkfifo(data)
    supervised = Command(data).arguments(out, "--resume")
    process = command.start(supervised)
    wait_until_loading(process, out)
    process.kill()
    process.communicate()
    assert not (out / "config.json").exists()
    data.unlink()
    shutil.copy(command.dataset, data)
    refused = command.finish(command.resume(out))
    assert refused.status == 2
    assert "holds no run" in refused.error
    done = command.finish(supervised)
    assert done.status == 0, done.error
    assert_same_run(out, unbroken)


def config_of(command: Command, out: Path, *more: str) -> RunConfig:
    return parse_run(command.arguments(out, *more)[1:])[1]


def stopped_run(command: Command, out: Path, *more: str) -> list[Path]:
    """Stop a run in this process after some batches; return its checkpoints."""
    with pytest.raises(KeyboardInterrupt):
        run(config_of(command, out, *more), out, checkpoint_seconds=0, display=StopAt(3))
    return sorted((out / "checkpoints").glob("[0-9]*.safetensors"))


def flip_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def test_a_damaged_newest_checkpoint_falls_back_to_the_one_before(
    command: Command, unbroken: Path, tmp_path: Path
) -> None:
    out = tmp_path / "damaged"
    kept = stopped_run(command, out)
    assert len(kept) == 2
    flip_a_byte(kept[-1])
    done = command.finish(command.resume(out))
    assert done.status == 0
    assert "damaged" in done.output
    assert kept[-1].name in done.output
    assert_same_run(out, unbroken)


def test_when_every_checkpoint_is_damaged_the_run_refuses(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "lost"
    for path in stopped_run(command, out):
        path.write_bytes(path.read_bytes()[:1000])
    done = command.finish(command.resume(out))
    assert done.status == 2
    assert "every checkpoint" in done.error
    assert "Traceback" not in done.error


def test_a_checkpoint_of_another_run_is_refused(command: Command, tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    for path in stopped_run(command, mine):
        path.unlink()
    for path in stopped_run(command, other, "--lr", "0.02"):
        path.rename(mine / "checkpoints" / path.name)
    done = command.finish(command.resume(mine))
    assert done.status == 2
    assert "another run" in done.error


class FillDisk(Display):
    """Fills the disk at the second evaluation."""

    def __init__(self, filler: Path) -> None:
        self.filler = filler
        self.evaluations = 0

    def evaluation(self, record: dict[str, Any]) -> None:
        self.evaluations += 1
        if self.evaluations == 2:
            fill(self.filler)


def test_a_full_disk_keeps_the_old_checkpoint(
    command: Command, unbroken: Path, small_disk: Callable[[str], Path]
) -> None:
    disk = small_disk("4m")
    out, filler = disk / "run", disk / "filler"
    with pytest.raises(ScaleError, match="space"):
        run(config_of(command, out), out, checkpoint_seconds=0, display=FillDisk(filler))
    filler.unlink()
    assert command.finish(command.resume(out)).status == 0
    assert_same_run(out, unbroken)


def fill(path: Path) -> None:
    """Write until the disk is full."""
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


@pytest.mark.slow
def test_two_processes_cannot_run_in_one_folder(held: Held, gate: Gate, tmp_path: Path) -> None:
    out = tmp_path / "shared"
    process = held.start(held.arguments(out), **gate.environment())
    wait_for_evaluation(process, 1)
    done = held.finish(held.resume(out))
    process.kill()
    process.communicate()
    assert done.status == 2
    assert "another process" in done.error
