"""Classes that are not evaluated, not streamed, or not numbered without gaps."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from scale.runs import PlainDisplay, RunConfig, read_metrics, run
from scale.runs.setting import prepare
from tests.runs.conftest import make_photos

PARAMS = {"encoder": "cnn", "augmentation": "mnist", "steps_per_batch": 1}


def config(dataset: Path, **changes: Any) -> RunConfig:
    settings = {"method": "simclr", "stream_batch": 5, "evaluations": 3, "params": dict(PARAMS)}
    return RunConfig(dataset=str(dataset), **{**settings, **changes})


def one_rare(folder: Path) -> Path:
    """A class of one image between the others: nothing of it can be held out."""
    return make_photos(folder, {"a": 8, "b": 1, "c": 8, "d": 8})


def one_untested(folder: Path) -> Path:
    make_photos(folder / "train", {"a": 6, "b": 6, "c": 6})
    make_photos(folder / "test", {"a": 4, "c": 4}, seed=1)
    return folder


def one_unseen(folder: Path) -> Path:
    """The test split has a class that the train split lacks."""
    make_photos(folder / "train", {"a": 6, "c": 6})
    make_photos(folder / "test", {"a": 4, "b": 4, "c": 4}, seed=1)
    return folder


def gaps(folder: Path) -> Path:
    rng, folder = np.random.default_rng(0), folder.with_suffix(".npz")
    labels = np.array([0, 100, 200])
    np.savez(
        folder,
        x_train=rng.integers(0, 256, (18, 16, 16), dtype=np.uint8),
        y_train=labels.repeat(6),
        x_test=rng.integers(0, 256, (9, 16, 16), dtype=np.uint8),
        y_test=labels.repeat(3),
    )
    return folder


def forgetting_written_out(folder: Path, settings: RunConfig) -> float:
    """Forgetting once seen, from the labels of the stream and the recorded accuracies."""
    setting = prepare(settings)
    assert setting.labels is not None
    assert setting.evaluator is not None
    evaluations = read_metrics(folder / "metrics.jsonl", "evaluation")
    lost = []
    for column, label in enumerate(sorted(set(setting.evaluator.sets.eval_labels.tolist()))):
        streamed = setting.labels.tolist()
        counted = [
            record["knn_per_class"][column]
            for record in evaluations
            if 2 * streamed[: record["position"]].count(label) >= max(1, streamed.count(label))
        ]
        if len(counted) > 1:
            lost.append(max(counted[:-1]) - counted[-1])
    return sum(lost) / len(lost) if lost else 0.0


@pytest.mark.parametrize("make", [one_rare, one_untested, one_unseen, gaps])
def test_a_run_counts_the_forgetting_of_the_evaluated_classes(
    make: Callable[[Path], Path], tmp_path: Path
) -> None:
    settings = config(make(tmp_path / "data"))
    lines = io.StringIO()
    display = PlainDisplay(Console(file=lines, width=500))
    summary = run(settings, tmp_path / "run", display=display)
    expected = forgetting_written_out(tmp_path / "run", settings)
    assert summary["forgetting_seen"] == pytest.approx(expected)
    left_out = make in (one_rare, one_untested)
    told = "1 class without images to evaluate on, only learned from: b\n"
    assert lines.getvalue().count(told) == left_out
