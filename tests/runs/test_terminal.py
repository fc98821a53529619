"""A run outlives its terminal: closed pipes, full disks, hang-ups, in real processes."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import TextIO

import pytest

from scale._console import Screen
from scale._output import News
from scale._text import shell_line
from scale.runs import PlainDisplay, run
from tests.gate import Gate
from tests.runs.conftest import Command, Held
from tests.runs.test_resume import assert_same_run, config_of, wait_for_evaluation

LOST = "scale: the output cannot be written (Broken pipe); the work goes on without it\n"


def closed_pipe() -> TextIO:
    reading, writing = os.pipe()
    os.close(reading)
    return open(writing, "w")


def full_disk() -> TextIO:
    return open("/dev/full", "w")


@pytest.mark.parametrize(
    ("output", "error"),
    [
        (closed_pipe, LOST),
        (full_disk, LOST.replace("Broken pipe", "No space left on device")),
    ],
    ids=["closed pipe", "full disk"],
)
def test_a_run_whose_output_is_lost_ends_as_any_other(
    output: Callable[[], TextIO],
    error: str,
    command: Command,
    unbroken: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = output()
    display = PlainDisplay(Screen(News(file)), seconds=0)
    run(config_of(command, tmp_path), tmp_path, checkpoint_seconds=0, display=display)
    with contextlib.suppress(OSError):
        file.close()
    assert capsys.readouterr().err == error
    assert_same_run(tmp_path, unbroken)


@pytest.mark.slow
@pytest.mark.parametrize("more", [">&- 2>&- <&-", "2> /dev/full | true; exit ${PIPESTATUS[0]}"])
def test_a_run_that_can_tell_nobody_goes_on_to_its_end(
    more: str, command: Command, unbroken: Path, tmp_path: Path
) -> None:
    line = shell_line([sys.executable, "-m", "scale", *command.arguments(tmp_path / "run")])
    done = subprocess.run(
        ["bash", "-c", f"{line} {more}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert_same_run(tmp_path / "run", unbroken)


@pytest.mark.slow
@pytest.mark.usefixtures("default_signals")
def test_ctrl_c_that_ends_the_reader_too_saves_and_says_how_to_go_on(
    held: Held, held_unbroken: Path, gate: Gate, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    arguments = held.arguments(out, "--checkpoint-seconds", "1000")
    process = held.start(arguments, **gate.environment())
    wait_for_evaluation(process, 2)
    assert process.stdout is not None
    process.stdout.close()
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    with gate.opened():
        error = process.stderr.read()
        assert process.wait() == 130
    assert error.startswith(LOST)
    assert error.endswith(shell_line(["scale", "run", "--out", str(out), "--resume"]) + "\n")
    assert error.count("\n") == 2
    assert len(list((out / "checkpoints").glob("*.safetensors"))) == 1
    assert held.finish(held.resume(out)).status == 0
    assert_same_run(out, held_unbroken)


@pytest.mark.slow
@pytest.mark.usefixtures("default_signals")
@pytest.mark.parametrize(("nohup", "status"), [(False, 130), (True, 0)])
def test_a_terminal_that_is_closed_saves_the_run_unless_hangups_are_ignored(
    nohup: bool, status: int, held: Held, held_unbroken: Path, gate: Gate, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    screen, terminal = os.openpty()

    def take_terminal() -> None:
        os.setsid()
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        if nohup:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

    process = subprocess.Popen(
        [sys.executable, "-m", "scale", *held.arguments(out)],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, **gate.environment()},
        preexec_fn=take_terminal,
    )
    os.close(terminal)
    shown = b""
    while b"last evaluation" not in shown:
        shown += os.read(screen, 1 << 16)
    os.close(screen)
    with gate.opened():
        assert process.wait() == status
    assert (out / "summary.json").exists() == nohup
    assert list((out / "checkpoints").glob("*.safetensors"))
    assert held.finish(held.resume(out)).status == 0
    assert_same_run(out, held_unbroken)
