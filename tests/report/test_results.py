"""The page of results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scale.cli import main
from tests.report.records import record

ROOT = Path(__file__).parents[2]
NOTES = """
title = "Two methods, briefly"
about = "Does replay help?"
command = "scale bench two"
cut = "nearly everything"
columns = ["knn"]
against = "er"

[[claims]]
says = "replay helps"
better = "er"
than = ["simclr"]
why = "too short a run"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    results = tmp_path / "results"
    results.mkdir()
    lines = []
    for method, knn in (("er", 50.0), ("simclr", 52.0)):
        for seed in (0, 1, 2):
            line = record(method, seed, knn + seed * (1 if method == "er" else 1.5))
            line["run"]["params"] = {"steps_per_batch": 5}
            line["data"]["images"] = 640
            line["versions"] = {"python": "3.11.7", "torch": "2.13.0"}
            lines.append(json.dumps(line) + "\n")
    (results / "two.jsonl").write_text("".join(lines))
    (results / "two.toml").write_text(NOTES)
    return results


def test_a_page_says_what_was_run_and_what_agrees(folder: Path) -> None:
    assert main(["results", "--out", "RESULTS.md"]) == 0
    page = Path("RESULTS.md").read_text()
    assert "6 runs; seeds 0, 1, 2; updates per batch 5; images in a stream 640" in page
    assert "cut: nearly everything" in page
    assert "| simclr, steps_per_batch 5 | 3 | 53.50 ± 1.50 | +2.50 [1.26, 3.74] |" in page
    assert "| replay helps | mnist seq |  |  | simclr -2.50 [-3.74, -1.26] |" in page
    assert "| the paper's claim | where | agrees | undecided | does not agree |" in page
    assert "- too short a run" in page


def test_a_reason_is_given_only_for_what_does_not_agree(folder: Path) -> None:
    turned = NOTES.replace('better = "er"', 'better = "simclr"').replace('["simclr"]', '["er"]')
    (folder / "two.toml").write_text(turned)
    assert main(["results", "--out", "RESULTS.md"]) == 0
    assert "too short a run" not in Path("RESULTS.md").read_text()


def test_figures_are_drawn_beside_the_page(folder: Path) -> None:
    (folder / "two.toml").write_text('figure = "bars"\n' + NOTES)
    assert main(["results", "--out", "out.md", "--figures", "pictures"]) == 0
    assert "](pictures/two.png)" in Path("out.md").read_text()
    assert Path("pictures/two.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("notes", "complaint"),
    [
        ('titel = "x"', "no note 'titel'"),
        ("about = 'x'", "no 'title'"),
        ("title = ", "cannot read the notes"),
    ],
)
def test_notes_that_cannot_be_read_are_named(
    folder: Path, notes: str, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "two.toml").write_text(notes)
    assert main(["results"]) == 2
    assert complaint in capsys.readouterr().err


def test_a_folder_without_notes_and_notes_without_records_are_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "two.jsonl").unlink()
    assert main(["results"]) == 2
    assert "no records beside it" in capsys.readouterr().err
    (folder / "two.toml").unlink()
    assert main(["results"]) == 2
    assert "no notes" in capsys.readouterr().err
    assert main(["results", "nowhere"]) == 2
    assert "no folder nowhere" in capsys.readouterr().err


def test_the_page_in_the_repository_is_what_the_command_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert main(["results"]) == 0
    assert capsys.readouterr().out == Path("RESULTS.md").read_text()
