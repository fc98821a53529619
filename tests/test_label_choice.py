"""The analysis of how far kNN depends on the classes and labels it is measured with."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.label_choice import BANKS, Choice, draw, main, spread
from sklearn.neighbors import KNeighborsClassifier

from scale.evaluate import EvaluationSets
from scale.runs import RunConfig, run

PARAMS = {"encoder": "cnn", "augmentation": "mnist", "steps_per_batch": 1}


def sets(classes: int, per_class: int) -> EvaluationSets:
    """Labels of as many test as train images; the images are not looked at."""
    labels = np.repeat(np.arange(classes), per_class)
    nothing = np.empty((len(labels), 1, 1, 1), dtype=np.uint8)
    return EvaluationSets(nothing, labels, nothing, labels, nothing, labels)


def test_all_classes_and_labels_leave_nothing_to_choose() -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(2, 60, 8)).astype(np.float32)
    known = sets(classes=3, per_class=20)
    series = draw(features[0], features[1], known, Choice(3, 20, k=5, draws=4), seed=0)
    model = KNeighborsClassifier(5).fit(features[1], known.train_labels)
    expected = 100 * model.score(features[0], known.eval_labels)
    assert series == pytest.approx(np.full((4, BANKS), expected))
    assert spread(series)["sd_labels"] == spread(series)["sd_classes"] == 0


def test_what_classes_and_what_labels_do_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    by_class = rng.normal(0, 4, size=(4000, 1))
    figures = spread(30 + by_class + rng.normal(0, 2, size=(4000, 5)))
    assert figures["mean"] == pytest.approx(30, abs=0.3)
    assert figures["sd_classes"] == pytest.approx(4, abs=0.2)
    assert figures["sd_labels"] == pytest.approx(2, abs=0.1)


def test_lines_of_a_run_become_a_table(
    small_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    run(RunConfig(dataset=str(small_set), method="er", stream_batch=60, params=dict(PARAMS)), out)
    few = ["--classes", "2", "--labels", "3", "--k", "3", "--draws", "4"]
    assert main([str(out), *few]) == 0
    text = capsys.readouterr().out
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line["features"].split(",")[0] for line in lines] == ["er", "random start"]
    assert all(0 <= line["least"] <= line["mean"] <= line["greatest"] <= 100 for line in lines)
    (tmp_path / "lines.jsonl").write_text(text)
    assert main(["--table", str(tmp_path / "lines.jsonl")]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("classes 2, labels 3, k 3, draws 4, seed 0:\n\n| where |")
    assert shown.count("\n") == 4 + len(lines)

    assert main([str(out), *few, "--classes", "3"]) == 0  # all there are
    text = capsys.readouterr().out
    assert [json.loads(line)["sd_classes"] for line in text.splitlines()] == [None, None]
    (tmp_path / "lines.jsonl").write_text(text)
    assert main(["--table", str(tmp_path / "lines.jsonl")]) == 0
    assert capsys.readouterr().out.count("|  |") == 2

    for wrong, said in (("--classes", "--classes of at most"), ("--labels", "--labels of at most")):
        assert main([str(out), *few, wrong, "1000"]) == 2
        assert said in capsys.readouterr().err
    assert main([str(out), "--k", "0"]) == 2
    assert "1 or more" in capsys.readouterr().err
    assert main([str(tmp_path / "nowhere")]) == 2
    (tmp_path / "other.jsonl").write_text("{}\n")
    assert main(["--table", str(tmp_path / "other.jsonl")]) == 2
