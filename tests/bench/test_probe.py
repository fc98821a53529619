"""What a bench will take, and how long losses and memory updates do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scale.bench import load_experiment, plan
from scale.bench.probe import estimate
from scale.cli import main


def test_a_dry_run_counts_runs_and_updates_and_measures_each_kind_once(tiny: Path) -> None:
    told: list[str] = []
    jobs = plan(load_experiment(str(tiny)), {"seed": [0, 1, 2], "lr": [0.01, 0.02]})
    found = estimate(jobs, 1, told.append)
    assert found.runs == 2 * 3 * 2
    assert found.updates == found.runs * 12 * 2, "12 batches, 2 updates each"
    assert found.seconds > 0
    assert len(told) == 2, "er and simclr"


def test_a_dry_run_says_so_and_leaves_no_files(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    line = ["bench", str(tiny), "--out", str(out), "--dry-run", "--workers", "2"]
    assert main([*line, "--variants", "simclr"]) == 0
    shown = capsys.readouterr().out
    assert "1 runs, 24 updates in all" in shown
    assert "2 run(s) at a time" in shown
    assert not out.exists()


def test_timings_are_kept_like_records_and_not_measured_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["bench", "time", "--out", str(tmp_path), "--dataset", "digits", "--repeats", "2"]
    line += ["--batches", "8+4", "--memory-policy", "random", "psa", "--memory-size", "40"]
    assert main(line) == 0
    assert "4 new timings" in capsys.readouterr().out
    found = [json.loads(text) for text in (tmp_path / "records.jsonl").read_text().splitlines()]
    assert [record["variant"] for record in found] == ["losses"] * 2 + ["memory update"] * 2
    assert found[0]["axes"] == {"part": "losses", "method": "co2l", "n": 8, "m": 4}
    assert all(record["timing"]["seconds"] > 0 for record in found)
    assert all(record["timing"]["repeats"] == 2 for record in found)
    assert main(line) == 0
    assert "0 new timings" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--batches", "many"], "batches are n+m"),
        (["--lam", "3"], "no axis 'lam'"),
        (["--methods", "scail"], "did you mean 'scale'"),
        (["--memory-policy", "best"], "no memory policy"),
        (["--dataset", "digits", "--memory-size", "99999", "--methods", "pixels"], "no losses"),
    ],
)
def test_a_mistake_gets_one_clear_line(
    options: list[str], expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bench", "time", "--out", str(tmp_path), "--repeats", "1", *options]) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1
