"""Records and notes that are damaged or of another kind are shown, or refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scale import report
from scale._errors import DamagedFileError, InputError, ScaleError
from scale.bench import BenchFolder, Job, load_experiment, plan
from scale.report.records import select
from scale.runs import RunConfig
from tests import damaged
from tests.report.records import CODE, record

MARKS = {"experiment": "losses", "variant": "a", "axes": {"seed": 0}, "job": "0"}
GOOD: dict[str, Any] = {
    **record("er", code=CODE, marks=MARKS),
    "protocol": {"samples_per_class": 3, "bank_size": 5},
    "curve": {"position": [0, 1], "knn": [1.0, 2.0], "acc": [1.0, 2.0]},
    "later_code": [CODE],
}
NOTES = "question = 'Which?'\nanswer = 'er'\n"
EXPERIMENT = "kind = 'table'\ntitle = 'x'\n[axes]\nmethod = ['er', 'scale']\nseeds = 2\n"


def show(path: Path) -> None:
    records = report.runs_of(report.read_sources([path]))
    table = report.make_table(records, against=records[0]["run"]["method"])
    table.markdown(), table.latex(), table.csv(), table.terminal(80)


def write_pages(records: Path, notes: bytes, folder: Path) -> None:
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(records.read_bytes())
    (folder / "a.toml").write_bytes(notes)
    sections = report.read_sections(folder)
    report.results_page(sections, report.read_archive(folder), "pages")
    report.question_page(sections[0])
    report.archive_replaced(folder)


def go_on(records: Path, folder: Path) -> None:
    folder.mkdir()
    (folder / "records.jsonl").write_bytes(records.read_bytes())
    job = Job("losses", RunConfig(dataset="digits8", method="er"))
    BenchFolder(folder, any_code=True).finished(job)


def test_foreign_records_are_shown_or_refused_in_one_line(tmp_path: Path) -> None:
    for number, (name, path) in enumerate(damaged.foreign_jsonl(tmp_path / "all", GOOD)):
        for use in (
            lambda path=path: show(path),
            lambda path=path, n=number: write_pages(path, NOTES.encode(), tmp_path / f"pages{n}"),
            lambda path=path, n=number: go_on(path, tmp_path / f"bench{n}"),
        ):
            said = ""
            try:
                use()
            except ScaleError as error:
                said = str(error)
            assert "\n" not in said, name


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"summary": {"timing": {"wall_seconds": "long"}}}, "wall_seconds must be a number"),
        ({"summary": None}, "summary must be a table"),
        ({"run": {"method": "er"}}, "run needs an entry 'dataset'"),
        ({"run": {**GOOD["run"], "seed": 0.5}}, "run.seed must be a whole number"),
        ({"summary": {**GOOD["summary"], "knn": "high"}}, "knn must be a number"),
        ({"curve": {"knn": [1.0]}}, "position"),
    ],
)
def test_a_wrong_entry_is_named_with_its_line(tmp_path: Path, change: Any, says: str) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(GOOD) + "\n" + json.dumps({**GOOD, **change}) + "\n")
    with pytest.raises(DamagedFileError, match=rf"line 2 of .*records\.jsonl.*{says}"):
        show(path)


def test_files_that_cannot_be_read_as_records_or_experiments_are_refused(tmp_path: Path) -> None:
    for _, path in damaged.special_files(tmp_path / "records", "x.jsonl"):
        with pytest.raises(ScaleError):
            show(path)
    for _, path in damaged.special_files(tmp_path / "experiments", "x.toml"):
        with pytest.raises(ScaleError, match=r"x\.toml|experiment x"):
            load_experiment(str(path))


def test_a_folder_in_the_place_of_a_benchs_experiment_is_refused(tmp_path: Path) -> None:
    (tmp_path / "records.jsonl").write_text(json.dumps(GOOD) + "\n")
    (tmp_path / "losses.toml").mkdir()
    with pytest.raises(InputError, match=r"losses\.toml is a folder"):
        select([tmp_path])


def test_foreign_experiments_and_notes_are_refused_in_one_line(tmp_path: Path) -> None:
    for _, path in damaged.foreign_toml(tmp_path / "experiments", EXPERIMENT):
        with pytest.raises((InputError, DamagedFileError)) as caught:
            plan(load_experiment(str(path)))
        assert "\n" not in str(caught.value)
    records = tmp_path / "good.jsonl"
    records.write_text(json.dumps(GOOD) + "\n")
    for number, (_, path) in enumerate(damaged.foreign_toml(tmp_path / "notes", NOTES)):
        with pytest.raises((InputError, DamagedFileError)) as caught:
            write_pages(records, path.read_bytes(), tmp_path / f"folder{number}")
        assert "\n" not in str(caught.value)
        assert "a.toml" in str(caught.value)


@pytest.mark.parametrize(("name", "value"), [("tau", [None]), ("lr", "x"), ("lr", 10**30)])
def test_a_value_that_its_parameter_cannot_have_is_refused(
    name: str, value: object, tmp_path: Path
) -> None:
    params = {**GOOD["run"]["params"], name: value}
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps({**GOOD, "run": {**GOOD["run"], "params": params}}) + "\n")
    with pytest.raises(DamagedFileError, match=f"{name} must be .*correct or remove it"):
        show(path)
