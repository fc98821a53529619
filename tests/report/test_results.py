"""The page of results, the pages behind it, and the notes and commands that they rest on."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from scale.bench import load_experiment, plan
from scale.cli import main
from scale.commands.bench import parse
from scale.commands.run import parse_run
from scale.report import (
    Section,
    archive_page,
    question_page,
    read_archive,
    read_sections,
    reproduction_page,
    results_page,
)
from scale.report.names import same_text, settings_of
from tests.report.records import CODE, record, without

ROOT = Path(__file__).parents[2]
NOTES = """
question = "Does replay help?"
answer = "No: {knn:er@mnist seq} against {knn:simclr@mnist seq}, {knn:er - simclr@mnist seq}."
about = "Two methods, briefly."
commands = ["scale bench two"]
cut = "nearly everything"
columns = ["knn", "acc", "linear", "time", "memory", "nmi"]
against = "er"

[[claims]]
says = "replay helps"
better = "er"
than = ["simclr"]
why = "too short a run"
"""
BETTER, OTHER = 'better = "er"', 'than = ["simclr"]'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    results = tmp_path / "results"
    (results / "archive").mkdir(parents=True)
    write(results / "two.jsonl", two_methods())
    (results / "two.toml").write_text(NOTES)
    return results


def two_methods(**changes: Any) -> list[dict[str, Any]]:
    found = []
    for method, knn, step in (("er", 50.0, 1.0), ("simclr", 52.0, 1.5)):
        for seed in (0, 1, 2):
            params = {"steps_per_batch": 5}
            found.append(record(method, seed, knn + seed * step, params=params, **changes))
    return found


def write(path: Path, records: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(each) + "\n" for each in records))


def test_the_first_line_answers_and_the_table_gives_the_verdicts(folder: Path) -> None:
    assert main(["results", "--out", "RESULTS.md"]) == 0
    page = Path("RESULTS.md").read_text()
    first = page.splitlines()[0]
    assert first == (
        "# Is SCALE reproduced? No: of 1 claims of the paper, 0 confirmed, 0 undecided, 1 refuted."
    )
    answer = "No: 51.0 against 53.5, -2.5 [-3.7, -1.3]."
    assert f"| [Does replay help?](docs/results/two.md) | {answer} | 6 |  |" in page
    line = "| replay helps | mnist seq |  | simclr -2.50 [-3.74, -1.26] | refuted † |"
    assert f"{line} [two](docs/results/two.md) |" in page
    assert "1 comparisons with an interval" in page


def test_the_page_on_the_reproduction_gives_the_command_of_each_verdict(folder: Path) -> None:
    other = 'commands = ["scale run --dataset cifar10", "scale bench two --methods er simclr"]'
    (folder / "two.toml").write_text(NOTES.replace('commands = ["scale bench two"]', other))
    assert main(["results", "--out", "RESULTS.md"]) == 0
    page = Path("docs/reproduction.md").read_text()
    assert page.startswith("# Is SCALE reproduced?\n\nNo: of 1 claims of the paper")
    line = "| replay helps | mnist seq |  | simclr -2.50 [-3.74, -1.26] | refuted † |"
    assert f"{line} `scale bench two --methods er simclr` |" in page
    assert "[All results](../RESULTS.md)" in page


def test_a_page_has_the_answer_a_table_of_seven_columns_and_what_was_run(folder: Path) -> None:
    assert main(["results", "--out", "RESULTS.md"]) == 0
    page = Path("docs/results/two.md").read_text()
    assert page.startswith("# Does replay help?\n\n**No: 51.0 against 53.5")
    assert "| where | features | seeds | kNN | vs er | ACC | CPU min |" in page
    assert "| mnist seq | simclr | 3 | 53.50 ± 1.50 | +2.50 [1.26, 3.74] |" in page
    assert page.count("floor: pixels |") == 1
    assert "- Cut: nearly everything" in page
    assert "    scale bench two" in page
    assert "- too short a run" in page
    assert "peak_mb_mean" in Path("docs/results/two.csv").read_text(), "the rest is in the CSV"


def test_a_reason_is_given_only_for_what_is_not_confirmed(folder: Path) -> None:
    turned = NOTES.replace(BETTER, 'better = "simclr"').replace(OTHER, 'than = ["er"]')
    (folder / "two.toml").write_text(turned)
    (section,) = read_sections(folder)
    assert "too short a run" not in question_page(section)
    assert results_page([section], [], "").startswith("# Is SCALE reproduced? Yes: of 1 claims")


def test_floors_that_are_the_same_on_all_streams_stand_once_for_each_dataset(folder: Path) -> None:
    write(folder / "two.jsonl", two_methods() + two_methods(stream="iid"))
    (section,) = read_sections(folder)
    page = question_page(section)
    assert page.count("floor: pixels |") == 1
    assert "| mnist any stream | floor: pixels | 3 |" in page


def test_known_code_is_named_and_not_marked(folder: Path) -> None:
    write(folder / "two.jsonl", two_methods(code=CODE))
    (section,) = read_sections(folder)
    page = results_page([section], [], "pages")
    assert "| refuted | [two]" in page
    assert "The code is recorded for 6 of 6 runs." in page
    assert f"Code: {'b' * 9}." in question_page(section)


def test_the_archive_has_a_page_of_its_own_and_decides_nothing(folder: Path) -> None:
    write(folder / "archive" / "old.jsonl", two_methods())
    (folder / "archive" / "old.toml").write_text('title = "Old runs"\nwhy = "replaced"\n')
    assert main(["results", "--out", "RESULTS.md"]) == 0
    assert "of 1 claims" in Path("RESULTS.md").read_text()
    page = Path("docs/results/archive.md").read_text()
    assert "| Old runs | replaced | 6 | not recorded | `old.jsonl` |" in page


def test_records_that_were_run_again_move_to_the_archive(folder: Path) -> None:
    old = [without(found, "tau") for found in two_methods()]
    write(folder / "two.jsonl", [*old, record("der"), *two_methods(code=CODE)])
    assert main(["results", "--archive", "--out", "RESULTS.md"]) == 0
    (section,), (archived,) = read_sections(folder), read_archive(folder)
    assert len(section.records) == 7, "der was not run again"
    assert archived.records == old
    assert archived.notes.title == "Does replay help?"
    assert main(["results", "--archive"]) == 0
    assert read_archive(folder)[0].records == old


def test_figures_are_drawn_beside_the_pages(folder: Path) -> None:
    (folder / "two.toml").write_text('figure = "bars"\n' + NOTES)
    assert main(["results", "--out", "out.md", "--figures", "pictures"]) == 0
    assert "](two.png)" in Path("pictures/two.md").read_text()
    assert Path("pictures/two.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("notes", "complaint"),
    [
        ('questoin = "x"', "unknown entry 'questoin'; did you mean 'question'?"),
        ("answer = 'x'", "needs an entry 'question'"),
        ("question = ", "is not valid TOML"),
        ("question = 'x'\nanswer = '{knn:der@mnist seq}'", "needs knn of der on mnist seq"),
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


@pytest.fixture(scope="module")
def sections() -> list[Section]:
    """The sections of the repository's results."""
    return read_sections(ROOT / "results")


def test_the_pages_in_the_repository_are_what_the_command_writes(sections: list[Section]) -> None:
    archive = read_archive(ROOT / "results")
    pages = ROOT / "docs" / "results"
    written = results_page(sections, archive, "docs/results")
    assert (ROOT / "RESULTS.md").read_text() == written
    assert len(written.encode()) <= 15_000
    reproduction = reproduction_page(sections, "results", "../RESULTS.md")
    assert (pages.parent / "reproduction.md").read_text() == reproduction
    assert (pages / "archive.md").read_text() == archive_page(archive, "results")
    for section in sections:
        assert (pages / f"{section.name}.md").read_text() == question_page(section)
        assert (pages / f"{section.name}.csv").read_bytes().decode() == section.table.csv()


SECTIONS = sorted(path.stem for path in (ROOT / "results").glob("*.toml"))


@pytest.mark.parametrize("name", SECTIONS)
def test_the_commands_of_a_page_make_its_rows(name: str, sections: list[Section]) -> None:
    (section,) = (one for one in sections if one.name == name)
    configs = [config for command in section.notes.commands for config in configs_of(command)]
    assert all(configs_of(command) for command in section.notes.in_full)
    for one in section.records:
        wanted, seed = settings_of(one), one["run"]["seed"]
        assert any(c["seed"] == seed and makes(c, one, wanted) for c in configs), one["run"]


def configs_of(command: str) -> list[dict[str, Any]]:
    program, kind, *arguments = shlex.split(command)
    assert program == "scale"
    if kind == "run":
        return [parse_run(arguments)[1].to_json()]
    options = parse(arguments)
    jobs = plan(load_experiment(options.experiment), options.chosen(), options.variants)
    return [job.config.to_json() for job in jobs]


def makes(config: dict[str, Any], made: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """Whether a run of `config` has every setting that a record has."""
    have = settings_of({**made, "run": config})
    return all(name in have and same_text(have[name]) == same_text(wanted[name]) for name in wanted)


def test_no_number_of_an_answer_is_typed(sections: list[Section]) -> None:
    for section in sections:
        typed = re.sub(
            r"\{[^}]*\}|CIFAR-100?|TinyImageNet-10|Co2L|Table \d", "", section.notes.answer
        )
        assert not re.search(r"\d", typed), typed
