"""A run that is stopped in any way and resumed ends as one that was not, bit for bit."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.runs.conftest import Command


def wait_for_evaluation(process: subprocess.Popen[str], number: int) -> None:
    """Read the process's output until it has evaluated so many times."""
    assert process.stdout is not None
    seen = 0
    for line in process.stdout:
        seen += line.startswith("evaluation at")
        if seen == number:
            return
    pytest.fail(f"the run ended before evaluation {number}: {process.communicate()[1]}")


def kill_after(command: Command, arguments: list[str], evaluations: int, sig: int) -> str:
    """Stop a run with a signal while it works; return what it said on stderr."""
    process = command.start(arguments)
    wait_for_evaluation(process, evaluations)
    process.send_signal(sig)
    return process.communicate()[1]


def assert_same_run(one: Path, other: Path) -> None:
    for name in ("metrics.jsonl", "learner.safetensors", "floors.json"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_killed_at_three_random_moments_and_resumed_equals_the_unbroken_run(
    command: Command, unbroken: Path, tmp_path: Path
) -> None:
    out = tmp_path / "killed"
    moments = np.random.default_rng(os.getpid()).integers(1, 4, size=3)
    arguments = command.arguments(out)
    for moment in moments:
        kill_after(command, arguments, int(moment), signal.SIGKILL)
        assert not (out / "summary.json").exists()
        arguments = command.resume(out)
    done = command.finish(arguments)
    assert done.returncode == 0, done.stderr
    assert_same_run(out, unbroken)


@pytest.mark.slow
def test_killed_before_the_first_checkpoint_starts_again(
    command: Command, unbroken: Path, tmp_path: Path
) -> None:
    out = tmp_path / "early"
    kill_after(command, command.arguments(out, "--checkpoint-seconds", "1000"), 2, signal.SIGKILL)
    assert not list((out / "checkpoints").glob("*"))
    assert command.finish(command.resume(out)).returncode == 0
    assert_same_run(out, unbroken)


@pytest.mark.parametrize(
    "sig", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_interrupted_saves_and_names_the_command_that_resumes(
    command: Command, unbroken: Path, tmp_path: Path, sig: int
) -> None:
    out = tmp_path / "the camera"
    process = command.start(command.arguments(out, "--checkpoint-seconds", "1000"))
    wait_for_evaluation(process, 3)
    process.send_signal(sig)
    error = process.communicate()[1]
    assert process.returncode == 130
    assert shlex.join(["scale", "run", "--out", str(out), "--resume"]) in error
    assert "Traceback" not in error
    assert len(list((out / "checkpoints").glob("*.safetensors"))) == 1
    assert command.finish(command.resume(out)).returncode == 0
    assert_same_run(out, unbroken)


def wait_until_loading(process: subprocess.Popen[str], out: Path) -> None:
    """Return when the process has taken its folder; data from a pipe keeps it there."""
    while not (out / ".lock").exists():
        assert process.poll() is None, process.communicate()[1]
        os.sched_yield()


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
    assert refused.returncode == 2
    assert "holds no run" in refused.stderr
    kill_after(command, supervised, 2, signal.SIGKILL)
    done = command.finish(supervised)
    assert done.returncode == 0, done.stderr
    assert_same_run(out, unbroken)


def stopped_run(command: Command, out: Path) -> list[Path]:
    kill_after(command, command.arguments(out), 5, signal.SIGKILL)
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
    assert done.returncode == 0
    assert "damaged" in done.stdout
    assert kept[-1].name in done.stdout
    assert_same_run(out, unbroken)


@pytest.mark.slow
def test_when_every_checkpoint_is_damaged_the_run_refuses(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "lost"
    for path in stopped_run(command, out):
        path.write_bytes(path.read_bytes()[:1000])
    done = command.finish(command.resume(out))
    assert done.returncode == 2
    assert "every checkpoint" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_checkpoint_of_another_run_is_refused(command: Command, tmp_path: Path) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    stopped_run(command, mine)
    for path in stopped_run(command, other):
        path.unlink()
    kill_after(command, command.arguments(tmp_path / "third", "--lr", "0.02"), 2, signal.SIGKILL)
    for path in (tmp_path / "third" / "checkpoints").glob("*.safetensors"):
        path.rename(other / "checkpoints" / path.name)
    done = command.finish(command.resume(other))
    assert done.returncode == 2
    assert "another run" in done.stderr


def test_a_full_disk_keeps_the_old_checkpoint(
    command: Command, unbroken: Path, small_disk: Callable[[str], Path]
) -> None:
    disk = small_disk("4m")
    process = command.start(command.arguments(disk / "run"))
    wait_for_evaluation(process, 3)
    fill(disk / "filler")
    error = process.communicate()[1]
    assert process.returncode == 2
    assert "space" in error
    assert "Traceback" not in error
    (disk / "filler").unlink()
    assert command.finish(command.resume(disk / "run")).returncode == 0
    assert_same_run(disk / "run", unbroken)


def fill(path: Path) -> None:
    """Write until the disk is full."""
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


@pytest.mark.slow
def test_two_processes_cannot_run_in_one_folder(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "shared"
    process = command.start(command.arguments(out))
    wait_for_evaluation(process, 1)
    process.send_signal(signal.SIGSTOP)  # so that it cannot end while the other one starts
    done = command.finish(command.resume(out))
    process.kill()
    process.communicate()
    assert done.returncode == 2
    assert "another process" in done.stderr
