"""The live panel, on real pseudo-terminals and on terminals of any size."""

from __future__ import annotations

import fcntl
import io
import os
import re
import signal
import struct
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import numpy as np
import pytest
from rich.console import Console

from scale._console import Screen
from scale._text import shell_line
from scale.commands.run import Folder, _display
from scale.runs import LiveDisplay, PlainDisplay, RunConfig, read_metrics, run
from scale.runs.view import View
from tests.gate import Gate
from tests.processes import Started, start
from tests.runs.conftest import Command, Held, StopAt
from tests.runs.test_display import config
from tests.runs.test_resume import assert_same_run

CODES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
SHOW_CURSOR = "\x1b[?25h"


def on_terminal(arguments: list[str], columns: int = 80, **env: str) -> Started:
    """Start a command on a pseudo-terminal; its `stdout` reads the screen."""
    screen, terminal = os.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    clean = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = start(arguments, terminal=terminal, env={**clean, "TERM": "xterm-256color", **env})
    os.close(terminal)
    process.stdout = open(screen, "rb", buffering=0)  # noqa: SIM115
    return process


def read_until(process: Started, part: str | None, shown: bytes = b"") -> bytes:
    """Return `shown` and what the terminal shows then until `part`, or until the end.

    A read may end inside a character, so these are bytes.
    """
    assert process.stdout is not None
    while part is None or part.encode() not in shown:
        try:
            more = process.stdout.read(1 << 16)
        except OSError:  # the process has closed its terminal
            break
        if not more:
            break
        shown += more
    return shown


def read_all(process: Started, shown: bytes = b"") -> str:
    """Return `shown` and everything the terminal shows until the end."""
    return read_until(process, None, shown).decode()


@pytest.mark.slow
def test_one_panel_then_one_sentence_and_the_same_run(
    command: Command, unbroken: Path, tmp_path: Path
) -> None:
    process = on_terminal(command.arguments(tmp_path / "run"))
    shown = read_all(process)
    assert process.wait() == 0
    assert_same_run(tmp_path / "run", unbroken)
    final = CODES.sub("", shown[shown.rindex("╭") :])
    assert final.count("╭") == final.count("╰") == 1
    assert "done in" in final
    assert "100 %" in final
    sentence, after = final[final.index("╯") + 1 :].split("Next: ")
    assert sentence.strip().startswith("It ")
    assert after.startswith(f"scale report {tmp_path / 'run'}")
    plain = CODES.sub("", shown)
    assert "evaluation at image" not in plain, "a line repeats the panel"
    assert "\nfloor " not in plain
    assert "\nmeasuring" not in plain
    assert shown.rindex(SHOW_CURSOR) > shown.rindex("\x1b[?25l")


@pytest.mark.slow
def test_ctrl_c_closes_the_panel_then_says_how_to_go_on(
    held: Held, gate: Gate, tmp_path: Path
) -> None:
    process = on_terminal(held.arguments(tmp_path / "run"), **gate.environment())
    before = read_until(process, "last evaluation")
    process.send_signal(signal.SIGINT)
    with gate.opened():
        shown = read_all(process, before)
    assert process.wait() == 130
    end = shown[shown.rindex("╰") :]
    assert SHOW_CURSOR in end
    again = shell_line(["scale", "run", "--out", str(tmp_path / "run"), "--resume"])
    assert f"scale: stopped and saved; go on with: {again}" in end


@pytest.fixture
def terminal() -> Iterator[TextIO]:
    """A terminal in this process."""
    ends = os.openpty()
    with open(ends[1], "w") as file:
        yield file
    os.close(ends[0])


@pytest.mark.parametrize("term", ["xterm-256color", "dumb", "unknown"])
def test_a_dumb_terminal_gets_plain_lines(
    term: str, terminal: TextIO, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr("sys.stdout", terminal)
    expected = LiveDisplay if term == "xterm-256color" else PlainDisplay
    assert type(_display(Folder(out=tmp_path))) is expected


def test_a_pipe_gets_plain_lines_even_if_colours_are_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("sys.stdout", io.StringIO())
    assert type(_display(Folder(out=tmp_path))) is PlainDisplay


def test_without_colours_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = io.StringIO()
    Console(file=text, force_terminal=True, width=80, height=50).print(example())
    codes = re.findall(r"\x1b\[([0-9;]*)m", text.getvalue())
    styles = {code for found in codes for code in found.split(";")}
    assert styles <= {"", "0", "1", "2"}, "bold and dim only"


def example(name: str = "scale") -> View:
    view = View()
    view.title, view.method, view.phase, view.left = f"{name} on digits", name, "", "about 2 s left"
    view.total, view.batch_size = 100, 10
    view.floors = {"random": {"knn": 10.0, "acc": 12.0}, "pixels": {"knn": 20.0, "acc": 12.0}}
    for i in range(1, 6):
        losses = {"loss": 1.0 / i, "effective_rank": 10.0 + i}
        view.batch({"kind": "batch", "batch": i, "position": 10 * i, **losses, "memory": [5, i]})
    guard = {"score": 50.0, "start_score": 10.0, "images": 100, "better": True}
    view.evaluation({"position": 50, "knn": 43.2, "acc": 13.0, "guard": guard})
    return view


WIDTHS = [1, 2, 5, 9, 10, 11, 23, 24, 33, 34, 35, 40, 63, 64, 80, 120, 300]


@pytest.mark.parametrize("height", [1, 10, 24, 50])
@pytest.mark.parametrize("name", ["", "scale", "a-method-with-a-long-name/東京"])
def test_it_fits_every_terminal(name: str, height: int) -> None:
    view = example(name) if name else View()
    for width in WIDTHS:
        text = io.StringIO()
        Console(file=text, width=width, height=height, color_system=None).print(view)
        lines = text.getvalue().splitlines()
        assert all(len(line) <= width for line in lines), width
        if width >= 40:
            assert len(lines) <= max(height, 10), "only the first part stays on a low terminal"


@pytest.mark.parametrize("width", [10, 20, 40, 80])
def test_loss_and_accuracy_stay_readable(width: int) -> None:
    text = io.StringIO()
    Console(file=text, width=width, height=50, color_system=None).print(example())
    assert "0.200" in text.getvalue()
    assert "43.2" in text.getvalue()


def test_a_terminal_without_blocks_gets_ascii() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii")
    Console(file=file, width=80, height=50, color_system=None).print(example())
    file.flush()
    assert "loss" in raw.getvalue().decode("ascii")


def test_names_cannot_control_the_terminal(small_set: Path, tmp_path: Path) -> None:
    text = io.StringIO()
    screen = Screen(text, width=100)  # type: ignore[arg-type]
    screen._force_terminal = True
    hostile = tmp_path / "a\x1b[2Jb.npz"
    hostile.write_bytes(small_set.read_bytes())
    run(config(hostile), tmp_path / "run", display=LiveDisplay(screen, tmp_path / "run"))
    assert "a\x1b[2J" not in text.getvalue()
    assert "\\x1b[2Jb" in text.getvalue()


def test_a_resumed_run_shows_what_it_had_reached(small_set: Path, tmp_path: Path) -> None:
    out, text = tmp_path / "run", io.StringIO()
    with pytest.raises(KeyboardInterrupt):
        run(config(small_set), out, checkpoint_seconds=0, display=StopAt(5))
    display = LiveDisplay(Console(file=text, force_terminal=True, width=120, height=40), out)
    run(RunConfig.read(out), out, resume=True, display=display)
    first, *_ = read_metrics(out / "metrics.jsonl", "batch")
    assert display.view.floors.keys() == {"random", "pixels", "pca"}
    assert display.view.curves["loss"].draw(6, 120, 120).strip().count(" ") == 0
    assert display.view.curves["loss"].low <= first["loss"] <= display.view.curves["loss"].high
    assert "went on at image 80" in text.getvalue()


def test_without_labels_the_curve_is_that_of_view_retrieval(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (80, 16, 16), dtype=np.uint8)
    np.save(tmp_path / "camera.npy", pixels)
    settings = config(tmp_path / "camera.npy")
    settings.stream = "as-is"
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=120, height=40)
    run(settings, tmp_path / "run", display=LiveDisplay(console, tmp_path / "run"))
    final = text.getvalue()[text.getvalue().rindex("╭") :]
    assert "view retrieval %" in final
    assert "kNN" not in final
    assert "of views of its images, its start" in final
