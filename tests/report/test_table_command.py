"""The command `scale table` on files and folders."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scale.cli import main

from .records import of_variant

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A folder as `scale bench` leaves it."""
    folder = tmp_path / "bench"
    (folder / "runs").mkdir(parents=True)
    write(folder / "records.jsonl", [of_variant(name, method=name) for name in ("er", "simclr")])
    return folder


def write(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(each) + "\n" for each in records))


def test_a_bench_is_a_source_and_its_runs_can_be_kept(
    bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept.jsonl"
    assert main(["table", str(bench), "--markdown", "--to", str(kept)]) == 0
    first = capsys.readouterr()
    assert "| er | 1 | 50.00 |" in first.out
    assert first.err.startswith("scale: 2 new records")
    assert main(["table", str(kept), "--format", "markdown"]) == 0
    assert capsys.readouterr().out == first.out
    assert main(["table", str(bench), "--to", str(kept)]) == 0
    assert capsys.readouterr().err.startswith("scale: 0 new records")


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("terminal", "vs er"),
        ("markdown", "| vs er |"),
        ("latex", r"\toprule"),
        ("csv", "difference_low"),
    ],
)
def test_every_format_shows_the_comparison(
    form: str, expected: str, bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["table", str(bench), "--format", form, "--against", "er"]) == 0
    assert expected in capsys.readouterr().out


def test_our_results_fit_a_terminal_of_80_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("scale", "methods-mnist", "search"):
        assert main(["table", str(ROOT / "results" / f"{name}.jsonl")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "±" not in {line.split()[-1] for line in lines if line.split()}, "no number is broken"


def test_a_bench_without_a_finished_run_and_other_folders_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "new" / "runs").mkdir(parents=True)
    (tmp_path / "photos").mkdir()
    assert main(["table", str(tmp_path / "new")]) == 2
    assert "no finished run yet" in capsys.readouterr().err
    assert main(["table", str(tmp_path / "photos")]) == 2
    assert "neither the folder of a run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--against", "err"], "did you mean 'er'"),
        (["--against", "er", "--measure", "speed"], "no measure 'speed'"),
        (["--measure", "acc"], "--against"),
        (["--format", "csv", "--markdown"], "leave out one"),
        (["--columns", "kn"], "did you mean 'knn'"),
    ],
)
def test_a_mistake_gets_one_clear_line(
    arguments: list[str], expected: str, bench: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["table", str(bench), *arguments]) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1


def test_without_a_source_it_says_what_could_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table"]) == 2
    assert "folders of runs" in capsys.readouterr().err
