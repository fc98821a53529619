"""What ``scale embed`` says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from scale.cli import main
from scale.commands import embed as command
from tests.runs.test_embed import MANY, SIDE, made_learner


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(made_learner(tmp_path_factory.mktemp("learner") / "learner.safetensors"))


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    (tmp_path / "photos").mkdir()
    for name in ("a.png", "b.png"):
        Image.fromarray(np.zeros((SIDE, SIDE), np.uint8)).save(tmp_path / "photos" / name)
    (tmp_path / "photos" / "bad.png").write_text("no image")
    return tmp_path / "photos"


def test_skipped_files_are_named_and_counted(
    saved: str, photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "z.parquet"
    assert main(["embed", saved, str(photos), "--out", str(out), "--on-bad", "skip"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == f"skipped {photos / 'bad.png'}"
    assert told[1].startswith("2 embeddings of ")
    assert told[1].endswith(f"in {out}; 1 unreadable files skipped")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (["--workers", "0"], "workers must be from 1 to 1024, got 0"),
        (["--out", "z.txt"], "must end in .npy or .parquet, got z.txt"),
        (["--address", "here:1"], "address is for the engine ray"),
        (["--split", "test"], "has no split called 'test'"),
    ],
)
def test_a_mistake_gets_one_line(
    more: list[str],
    expected: str,
    saved: str,
    photos: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["embed", saved, str(photos), "--out", "z.npy", *more]) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1
    assert not list(tmp_path.glob("*.parts"))


def test_without_a_terminal_progress_is_lines_with_rate_and_time_left(
    saved: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "SECONDS", 0.0)
    np.save(tmp_path / "many.npy", np.zeros((MANY, SIDE, SIDE), np.uint8))
    assert main(["embed", saved, str(tmp_path / "many.npy"), "--out", str(tmp_path / "z.npy")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"image 512 of {MANY}  ")
    assert lines[0].endswith(" left")
    assert "images/s" in lines[0]
    assert lines[-1].startswith(f"{MANY} embeddings of ")


def test_the_settings_of_a_live_learner_that_are_damaged_are_named(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "door").mkdir()
    (tmp_path / "door" / "watch.json").write_text("{}")
    z = str(tmp_path / "z.npy")
    assert main(["embed", str(tmp_path / "door"), str(photos), "--out", z]) == 2
    told = capsys.readouterr().err
    assert told.endswith("door/watch.json is damaged; put back a copy of it\n")
