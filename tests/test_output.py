"""Output that is lost, and text that would harm a terminal."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import numpy as np
import pytest
import sklearn.decomposition
from rich.table import Table
from rich.text import Text

from scale import _output
from scale._console import Screen
from scale._output import News
from scale._text import printable, shell_line
from scale.cli import main

HOSTILE = "a\x1b]0;owned\x07\x9b2J\r\b\u202eb\udcff\n"


@pytest.fixture
def unread() -> Iterator[TextIO]:
    """A pipe that nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as stream:
        yield stream


def test_news_survive_a_closed_pipe_and_say_so_once(
    unread: TextIO, capsys: pytest.CaptureFixture[str]
) -> None:
    news = News(unread)
    for _ in range(3):
        news.write("hello\n")
    News(unread).write("a later part of the same command\n")
    assert capsys.readouterr().err == (
        "scale: the output cannot be written (Broken pipe); the work goes on without it\n"
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_news_survive_a_full_disk(capsys: pytest.CaptureFixture[str]) -> None:
    with open("/dev/full", "w") as full:
        News(full).write("hello\n")
    assert "No space left" in capsys.readouterr().err


def test_news_survive_a_stream_that_is_closed(capsys: pytest.CaptureFixture[str]) -> None:
    stream = io.StringIO()
    stream.close()
    News(stream).write("hello\n")
    assert "closed file" in capsys.readouterr().err


def test_a_signal_handler_may_write_while_its_process_is_writing() -> None:
    class Signalled(io.StringIO):
        def write(self, text: str) -> int:
            if text == "begun ":
                signal.raise_signal(signal.SIGUSR1)
            return super().write(text)

    stream = Signalled()
    news = News(stream)
    before = signal.signal(signal.SIGUSR1, lambda number, frame: print("told", file=news))
    try:
        news.write("begun ")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert stream.getvalue() == "begun told\n"


def test_no_control_character_of_a_name_reaches_the_terminal() -> None:
    file = io.StringIO()
    screen = Screen(file, width=120)
    table = Table("column", title=Text(HOSTILE))
    table.add_row(HOSTILE)
    table.add_row(Text(HOSTILE))
    screen.print(table)
    screen.say(HOSTILE)
    shown = file.getvalue()
    assert printable(shown, keep="\n") == shown
    assert r"\x1b]0;owned" in shown
    shown.encode()


def test_brackets_and_colons_in_names_are_no_markup() -> None:
    file = io.StringIO()
    table = Table()
    table.add_row("[bold]x[/bold] :cat:")
    Screen(file, width=120).print(table)
    assert "[bold]x[/bold] :cat:" in file.getvalue()


@pytest.mark.parametrize(
    "name", ["plain", "it's a\nb", "\x1b1", "\\n", "$'x'", "caf\udce9", "東京"]
)
def test_a_shell_reads_a_line_back(name: str) -> None:
    line = shell_line(["printf", "%s", name])
    assert printable(line) == line
    read = subprocess.run(["bash", "-c", line], capture_output=True, check=True).stdout
    assert read == os.fsencode(name)


def scale(more: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a shell, with redirections after it."""
    line = shell_line([sys.executable, "-m", "scale", *arguments])
    return subprocess.run(
        ["bash", "-c", f"{line} {more}"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize(
    "command", [["--help"], pytest.param(["table", "--help"], marks=pytest.mark.slow)]
)
@pytest.mark.parametrize(
    ("more", "status", "error"),
    [
        ("> /dev/full", 2, "scale: cannot write the output: No space left on device\n"),
        (">&-", 2, "scale: cannot write the output: Bad file descriptor\n"),
        ("> /dev/full 2> /dev/full", 2, ""),
        (">&- 2>&- <&-", 2, ""),
        ("| true; exit ${PIPESTATUS[0]}", 0, ""),
    ],
)
def test_results_that_cannot_be_written_are_an_error_unless_the_reader_has_left(
    more: str, status: int, error: str, command: list[str]
) -> None:
    done = scale(more, *command, PYTHONUNBUFFERED="1")
    assert (done.returncode, done.stderr) == (status, error)


@pytest.mark.parametrize("columns", ["0", "1", "10", "many", "²"])
def test_help_fits_any_width(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    with pytest.raises(SystemExit, match="0"):
        main(["data", "get", "--help"])
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out.startswith("usage: scale data get")


def test_an_encoding_without_our_signs_gets_plain_ones() -> None:
    code = (
        "from scale._output import open_standard_streams as prepare; prepare(); "
        "print('1 ± 2 é \\udcff')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.stdout == "1 +- 2 \\xe9 \\udcff\n"


def test_our_own_warnings_are_one_line_and_those_of_others_keep_their_place() -> None:
    own = str(Path(_output.__file__).parent / "methods" / "er.py")
    with _output.plain_warnings():
        assert warnings.formatwarning("it declines", UserWarning, own, 3) == "scale: it declines\n"
        other = warnings.formatwarning("slow", UserWarning, "/elsewhere.py", 3)
    assert other.startswith("/elsewhere.py:3: UserWarning: slow")
    assert "UserWarning" in warnings.formatwarning("it declines", UserWarning, own, 3)


def test_libraries_do_not_warn_about_single_numbers_even_where_warnings_are_errors() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("error")
        with _output.plain_warnings():
            one = np.zeros((1, 2))
            sklearn.decomposition.PCA().fit(one)
        with pytest.raises(RuntimeWarning):
            sklearn.decomposition.PCA().fit(one)
    assert not told
