"""What a user sees when a command fails in a way that nobody foresaw."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import scale
from scale._text import printable
from scale.cli import main
from scale.commands._ending import BUG, end

BROKEN = """\
from dataclasses import dataclass

from scale import ContrastiveLearner


@dataclass(kw_only=True)
class Broken(ContrastiveLearner):
    def learn(self, batch, labels):
        return {}["no such key"]
"""


def failure(call: Callable[[], Any]) -> BaseException:
    """Return the error that a call raises."""
    try:
        call()
    except BaseException as error:
        return error
    pytest.fail("it raised nothing")


@pytest.fixture(autouse=True)
def as_for_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SCALE_TRACEBACK")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_a_bug_gets_one_line_an_exit_status_and_a_file_with_the_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = failure(lambda: printable(None))  # type: ignore[arg-type]
    assert end(error, ["table", "a b"]) == BUG == 70
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    found = re.fullmatch(r"scale: this is a bug in scale, .*the traceback is in (\S+)\n", told)
    assert found is not None
    report = Path(found[1]).read_text()
    assert "scale table 'a b'" in report
    assert "AttributeError" in report
    assert scale.__version__ in report


def test_a_developer_sees_the_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCALE_TRACEBACK", "1")
    error = failure(lambda: printable(None))  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        end(error, [])


def test_without_a_place_for_the_file_the_line_says_how_to_see_the_traceback(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    error = failure(lambda: printable(None))  # type: ignore[arg-type]
    assert end(error, []) == BUG
    assert capsys.readouterr().err.endswith("SCALE_TRACEBACK=1 shows the traceback\n")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "not enough memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), "enough memory"),
        (OSError(5, "Input/output error", "a\x1b.png"), r"a\x1b.png: Input/output error"),
    ],
)
def test_what_is_no_bug_is_told_as_such(
    error: Exception, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert end(error, []) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


def test_a_recursion_without_end_is_told_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    import json

    nested = failure(lambda: json.loads("[" * 100_000))
    assert isinstance(nested, RecursionError)
    end(nested, [])
    assert capsys.readouterr().err.count("\n") == 1


def test_an_error_in_the_users_own_method_names_their_line(
    small_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(BROKEN)
    quick = ["--encoder", "cnn", "--augmentation", "mnist", "--steps-per-batch", "1"]
    place = ["--dataset", str(small_set), "--out", str(tmp_path / "run"), "--no-pictures"]
    assert main(["run", "--method", f"{mine}:Broken", *place, *quick]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1, told
    assert f"your code failed at {mine}:9: KeyError: 'no such key'" in told


def test_the_public_names_can_be_listed_and_the_version_read() -> None:
    assert {*scale.__all__, "__version__"} <= set(dir(scale))
    assert re.match(r"\d+\.\d+", scale.__version__)


@pytest.mark.parametrize("name", ["run", "bench", "table", "embed", "data get"])
def test_a_wrong_option_gets_one_line_that_names_the_nearest(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = "--worker=x" if name == "bench" else "--hepl"
    assert main([*name.split(), "x", wrong]) == 2
    told = capsys.readouterr().err
    assert told.startswith("scale: ")
    assert told.count("\n") == 1, told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("bench lambda --workers many", "--workers: many is not a whole number; see scale bench"),
        ("run --out x --seed 1.5", "--seed: 1.5 is not a whole number; see scale run --help"),
        ("run --out x --lr 9,5", "--lr: 9,5 is not a number; see scale run --help"),
        (f"run --out x --seed {'9' * 5000}", "--seed: it has too many digits; see scale run"),
        (f"run --out x --stream-batch {'9' * 5000}", f"{'9' * 60}... is not a whole number;"),
        ("run --out x --sed 1", "perhaps you meant: --seed INT"),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(
    arguments: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments.split()) == 2
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--out", ""],
        ["run", "--from", "", "--out", "x", "--dataset", "digits"],
        ["table", ""],
        ["status", ""],
        ["bench", "mu", "--out", ""],
        ["push", "run", ""],
    ],
)
def test_an_empty_path_is_none_and_not_the_current_folder(
    arguments: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert re.search("'' is not a path|'' cannot be used|empty text", capsys.readouterr().err)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.usefixtures("default_signals")
@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_libraries_are_imported_ends_in_one_line(
    sig: signal.Signals, tmp_path: Path
) -> None:
    hook = tmp_path / "sitecustomize.py"
    hook.write_text(
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, path, target=None):\n"
        f"        if name == 'torch': os.kill(os.getpid(), {int(sig)})\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "scale", "methods"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
    )
    assert done.returncode in (128 + sig, -sig)
    assert done.stderr == "scale: stopped at once; what was saved before is kept\n"
