"""A bench in one process: what is done, what is done again, what fails."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from scale.bench import BenchFolder, HowToRun, InProcess, Job, drive, load_experiment, plan
from scale.bench.display import BenchDisplay, LiveBenchDisplay, PlainBenchDisplay
from scale.bench.work import work
from scale.cli import main

Read = Callable[[Path], dict[str, Any]]


def run(jobs: list[Job], out: Path, display: BenchDisplay | None = None) -> tuple[int, int, int]:
    """Run the jobs and return how many were done before, are done now, and failed."""
    folder = BenchFolder(out)
    result = drive(jobs, folder, InProcess(folder, HowToRun()), display or BenchDisplay())
    return result.before, result.done, len(result.failed)


@pytest.fixture
def finished(unbroken: Path, tmp_path: Path) -> Path:
    """A finished bench that a test may change."""
    return Path(shutil.copytree(unbroken, tmp_path / "finished"))


def test_a_record_tells_its_place_in_the_experiment_and_no_paths(
    unbroken: Path, small_set: Path, records: Read
) -> None:
    found = sorted(records(unbroken).values(), key=lambda record: record["variant"])
    assert [record["variant"] for record in found] == ["er", "simclr"]
    for record in found:
        assert record["experiment"] == "tiny"
        assert record["axes"] == {"seed": 0}
        assert record["run"]["method"] == record["variant"]
        assert record["versions"]["scale-lifelong"]
        assert record["summary"]["knn"] > 0
        assert str(unbroken) not in json.dumps(record)


def test_a_finished_run_keeps_what_was_measured_but_no_checkpoints(unbroken: Path) -> None:
    for folder in (unbroken / "runs").iterdir():
        names = {path.name for path in folder.iterdir()}
        assert {"config.json", "summary.json", "metrics.jsonl", "embeddings", "log.txt"} <= names
        assert not {"checkpoints", "learner.safetensors"} & names


def test_learners_are_kept_when_asked_for(tiny: Path, tmp_path: Path) -> None:
    folder = BenchFolder(tmp_path)
    jobs = plan(load_experiment(str(tiny)), {"evaluations": [1]}, ["simclr"])
    drive(jobs, folder, InProcess(folder, HowToRun(keep_learner=True)), BenchDisplay())
    assert (folder.run_folder(jobs[0]) / "learner.safetensors").is_file()


def test_the_same_bench_again_runs_nothing(tiny: Path, finished: Path) -> None:
    before = (finished / "records.jsonl").read_bytes()
    assert run(plan(load_experiment(str(tiny))), finished) == (2, 0, 0)
    assert (finished / "records.jsonl").read_bytes() == before


def test_a_record_that_was_not_written_any_more_is_added_without_running(
    tiny: Path, finished: Path, unbroken: Path, records: Read
) -> None:
    (finished / "records.jsonl").unlink()
    assert run(plan(load_experiment(str(tiny))), finished) == (2, 0, 0)
    assert records(finished) == records(unbroken)


def test_runs_whose_folders_are_gone_are_known_by_their_records(tiny: Path, finished: Path) -> None:
    shutil.rmtree(finished / "runs")
    assert run(plan(load_experiment(str(tiny))), finished) == (2, 0, 0)


def test_another_experiment_in_the_same_folder_shares_the_runs(tiny: Path, finished: Path) -> None:
    other = tiny.with_name("other.toml")
    other.write_text(tiny.read_text().replace("[variants.er]", "[variants.replay]"))
    assert run(plan(load_experiment(str(other))), finished) == (2, 0, 0)
    lines = [json.loads(line) for line in (finished / "records.jsonl").read_text().splitlines()]
    places = sorted((line["experiment"], line["variant"]) for line in lines)
    assert places == [
        *(("other", "replay"), ("other", "simclr"), ("tiny", "er"), ("tiny", "simclr"))
    ]


def other_code(finished: Path, **code: Any) -> None:
    """Change the records as if other code had made them; its jobs have other names."""
    path = finished / "records.jsonl"
    lines = [
        {**json.loads(line), "job": "0" * 16, **code} for line in path.read_text().splitlines()
    ]
    if not code:
        for line in lines:
            del line["code"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    shutil.rmtree(finished / "runs")


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ({"code": {"digest": "1a2b3c4d5e", "commit": "5064942f"}}, "digest 1a2b3c4d, commit 5064"),
        ({}, "code not recorded"),
    ],
)
def test_runs_of_other_code_are_run_again_unless_told_to_take_them(
    code: dict[str, Any], told: str, tiny: Path, finished: Path
) -> None:
    other_code(finished, **code)
    text = io.StringIO()
    jobs = plan(load_experiment(str(tiny)))
    taken = BenchFolder(finished, any_code=True)
    result = drive(jobs, taken, InProcess(taken, HowToRun()), BenchDisplay())
    assert (result.before, result.done) == (2, 0)
    assert len((finished / "records.jsonl").read_text().splitlines()) == 2
    assert run(jobs, finished, PlainBenchDisplay(Console(file=text, width=160))) == (0, 2, 0)
    line = f"2 finished runs were made by other code ({told}"
    assert text.getvalue().count(line) == 1
    assert "--any-code accepts them" in text.getvalue()
    assert len((finished / "records.jsonl").read_text().splitlines()) == 4, "both are kept"


def test_code_that_changed_since_the_bench_began_fails_the_job(tiny: Path, tmp_path: Path) -> None:
    (job,) = plan(load_experiment(str(tiny)), {"evaluations": [1]}, ["simclr"])
    status, reason = work(job.config, tmp_path / "run", HowToRun(), "0" * 16)
    assert status == "failed"
    assert "is not the bench's (digest 00000000)" in reason
    assert not (tmp_path / "run" / "config.json").exists()
    assert reason in (tmp_path / "run" / "log.txt").read_text()


def test_runs_that_fail_are_reported_with_their_log_and_do_not_stop_the_rest(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.toml"
    more = "\n[variants.wild]\nmethod = 'simclr'\nlr = 1e30\n"
    more += "[variants.unknown]\nmethod = 'er'\nmemory_policy = 'best'\n"
    mine.write_text(tiny.read_text().replace("[variants.er]", f"{more}\n[variants.er]"))
    out = tmp_path / "out"
    command = ["bench", str(mine), "--out", str(out), "--engine", "in-process"]
    assert main([*command, "--evaluations", "1"]) == 1
    shown = capsys.readouterr().out
    assert "2 runs done (0 before) and 2 failed" in shown
    assert "the loss became" in shown
    assert "no memory policy is called 'best'" in shown
    assert len((out / "records.jsonl").read_text().splitlines()) == 2
    (log,) = [p for p in out.glob("runs/*/log.txt") if "'best'" in p.read_text()]
    assert "policy" in log.read_text().splitlines()[-1]
    assert main([*command, "--evaluations", "1", "--variants", "er", "simclr"]) == 0


def test_the_command_shows_where_the_bench_is_in_plain_lines(tiny: Path, tmp_path: Path) -> None:
    text = io.StringIO()
    jobs = plan(load_experiment(str(tiny)), {"evaluations": [1]})
    run(jobs, tmp_path, PlainBenchDisplay(Console(file=text, width=160)))
    shown = text.getvalue()
    assert shown.startswith("2 runs, 0 of them done already, 1 at a time")
    assert "start   er on small seq, seed 0" in shown
    assert "1/2 done, 0 running, 1 waiting, 0 failed, about" in shown
    assert "\x1b" not in shown, "no control codes in a log"
    live = io.StringIO()
    console = Console(file=live, force_terminal=True, width=160, height=40)
    run(jobs, tmp_path, LiveBenchDisplay(console))
    assert "2/2 done, 0 running, 0 waiting, 0 failed" in live.getvalue()


def test_the_records_make_a_table(unbroken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["table", str(unbroken / "records.jsonl"), "--markdown"]) == 0
    shown = capsys.readouterr().out
    assert "| er |" in shown
    assert "| simclr |" in shown
