"""A run outlives its terminal: closed pipes, full disks, hang-ups, in real processes."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from scale._console import Screen
from scale._output import News
from scale._text import shell_line
from scale.runs import PlainDisplay, run
from tests.runs.conftest import Command
from tests.runs.test_resume import assert_same_run, config_of, wait_for_evaluation

LOST = "scale: the output cannot be written (Broken pipe); the work goes on without it\n"


def test_a_run_without_a_reader_ends_as_any_other(
    command: Command, unbroken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as pipe:
        display = PlainDisplay(Screen(News(pipe)), seconds=0)
        run(config_of(command, tmp_path), tmp_path, checkpoint_seconds=0, display=display)
    assert capsys.readouterr().err == LOST
    assert_same_run(tmp_path, unbroken)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "error"),
    [
        ("| head -1; exit ${PIPESTATUS[0]}", LOST),
        ("> /dev/full", LOST.replace("Broken pipe", "No space left on device")),
        (">&- 2>&- <&-", ""),
        ("2> /dev/full | true; exit ${PIPESTATUS[0]}", ""),
    ],
)
def test_a_run_whose_output_is_lost_goes_on_to_its_end(
    more: str, error: str, command: Command, unbroken: Path, tmp_path: Path
) -> None:
    line = shell_line([sys.executable, "-m", "scale", *command.arguments(tmp_path / "run")])
    done = subprocess.run(
        ["bash", "-c", f"{line} {more}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, error)
    assert_same_run(tmp_path / "run", unbroken)


@pytest.mark.slow
@pytest.mark.usefixtures("default_signals")
def test_ctrl_c_that_ends_the_reader_too_saves_and_says_how_to_go_on(
    command: Command, unbroken: Path, tmp_path: Path
) -> None:
    process = command.start(command.arguments(tmp_path, "--checkpoint-seconds", "1000"))
    wait_for_evaluation(process, 3)
    assert process.stdout is not None
    process.stdout.close()
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    error = process.stderr.read()
    assert process.wait() == 130
    assert error.startswith(LOST)
    assert error.endswith(shell_line(["scale", "run", "--out", str(tmp_path), "--resume"]) + "\n")
    assert error.count("\n") == 2
    assert len(list((tmp_path / "checkpoints").glob("*.safetensors"))) == 1
    assert command.finish(command.resume(tmp_path)).status == 0
    assert_same_run(tmp_path, unbroken)


@pytest.mark.slow
@pytest.mark.usefixtures("default_signals")
@pytest.mark.parametrize(("nohup", "status"), [(False, 130), (True, 0)])
def test_a_terminal_that_is_closed_saves_the_run_unless_hangups_are_ignored(
    nohup: bool, status: int, command: Command, unbroken: Path, tmp_path: Path
) -> None:
    screen, terminal = os.openpty()

    def take_terminal() -> None:
        os.setsid()
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        if nohup:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

    process = subprocess.Popen(
        [sys.executable, "-m", "scale", *command.arguments(tmp_path)],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        preexec_fn=take_terminal,
    )
    os.close(terminal)
    shown = b""
    while b"last evaluation" not in shown:
        shown += os.read(screen, 1 << 16)
    os.close(screen)
    assert process.wait() == status
    assert (tmp_path / "summary.json").exists() == nohup
    assert list((tmp_path / "checkpoints").glob("*.safetensors"))
    assert command.finish(command.resume(tmp_path)).status == 0
    assert_same_run(tmp_path, unbroken)
