"""What a bench will cost, from a few updates."""

from __future__ import annotations

from pathlib import Path

import pytest

from scale.bench import load_experiment, plan
from scale.bench.estimate import estimate
from scale.cli import main
from scale.evaluate import Evaluator


def test_a_dry_run_counts_runs_and_updates_and_measures_each_kind_once(tiny: Path) -> None:
    told: list[str] = []
    jobs = plan(load_experiment(str(tiny)), {"seed": [0, 1, 2], "lr": [0.01, 0.02]})
    found = estimate(jobs, 1, told.append)
    assert found.runs == 2 * 3 * 2
    assert found.updates == found.runs * 6, "6 batches, 1 update each"
    assert found.seconds > 0
    assert len(told) == 2, "er and simclr"


def test_a_dry_run_measures_once_what_streams_share_and_never_embeds_the_train_split(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> float:
        raise AssertionError("the whole train split was embedded")

    monkeypatch.setattr(Evaluator, "knn_full", refuse)
    told: list[str] = []
    jobs = plan(load_experiment(str(tiny)), {"stream": ["seq", "iid"]})
    one = plan(load_experiment(str(tiny)), {"stream": ["seq"]})
    assert estimate(jobs, 1, told.append).updates == 2 * estimate(one, 1, lambda _: None).updates
    assert len(told) == 2, "er and simclr, each for both streams"


def test_a_dry_run_says_so_and_leaves_no_files(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    line = ["bench", str(tiny), "--out", str(out), "--dry-run", "--workers", "2"]
    assert main([*line, "--variants", "simclr"]) == 0
    shown = capsys.readouterr().out
    assert "1 runs, 6 updates in all" in shown
    assert "2 run(s) at a time" in shown
    assert not out.exists()
