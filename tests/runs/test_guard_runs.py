"""A run says without labels whether the learner does better than its start."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.guard import main, table
from rich.console import Console

import scale
from scale.evaluate import Guard
from scale.runs import LiveDisplay, PlainDisplay, RunConfig, prepare, read_metrics, run
from scale.runs.display import HealthWatch
from tests.methods.learners import differences, state
from tests.runs.conftest import StopAt

PARAMS = {"encoder": "cnn", "augmentation": "mnist", "steps_per_batch": 2}


def config(dataset: Path, method: str = "er") -> RunConfig:
    return RunConfig(
        dataset=str(dataset), method=method, stream_batch=20, evaluations=3, params=dict(PARAMS)
    )


@pytest.fixture(scope="module")
def finished(small_set: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("guard") / "run"
    run(config(small_set), out)
    return out


def test_it_is_recorded_at_every_evaluation_from_fifty_images_on(finished: Path) -> None:
    evaluations = read_metrics(finished / "metrics.jsonl", "evaluation")
    assert [record["position"] for record in evaluations] == [0, 40, 80, 120]
    assert ["guard" in record for record in evaluations] == [False, False, True, True]
    for record in evaluations[2:]:
        assert set(record["guard"]) == {"score", "start_score", "images", "better"}
    summary = json.loads((finished / "summary.json").read_text())
    assert summary["guard"] == evaluations[-1]["guard"]
    assert "guard" not in summary["floors"]["random"]


def test_the_final_one_is_what_the_saved_learner_is_told(finished: Path) -> None:
    learner = scale.load(finished / "learner.safetensors")
    summary = json.loads((finished / "summary.json").read_text())
    assert scale.guard(learner).to_json() == summary["guard"]


def test_the_weights_are_those_of_a_learner_that_was_never_asked(
    finished: Path, small_set: Path
) -> None:
    setting = prepare(config(small_set))
    for batch in setting.stream:
        setting.learner.partial_fit(batch)
    ran = scale.load(finished / "learner.safetensors")
    assert differences(state(ran), state(setting.learner)) == []


def test_a_run_that_was_stopped_and_resumed_says_the_same(
    finished: Path, small_set: Path, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(config(small_set), tmp_path / "run", checkpoint_seconds=0, display=StopAt(5))
    run(config(small_set), tmp_path / "run", resume=True)
    for name in ("metrics.jsonl", "learner.safetensors"):
        assert (tmp_path / "run" / name).read_bytes() == (finished / name).read_bytes(), name


def test_data_without_labels_is_judged_too(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (80, 16, 16), dtype=np.uint8)
    np.save(tmp_path / "camera.npy", pixels)
    settings = config(tmp_path / "camera.npy")
    settings.stream = "as-is"
    text = io.StringIO()
    display = PlainDisplay(Console(file=text, width=120))
    summary = run(settings, tmp_path / "run", display=display)
    assert "knn" not in summary
    assert 0 <= summary["guard"]["score"] <= 100
    assert "better than its start: " in text.getvalue()


def test_methods_without_memory_say_nothing(small_set: Path, tmp_path: Path) -> None:
    summary = run(config(small_set, "simclr"), tmp_path / "run")
    assert "guard" not in summary


@pytest.mark.parametrize("live", [False, True])
def test_it_is_shown_in_a_plain_phrase(live: bool, small_set: Path, tmp_path: Path) -> None:
    text = io.StringIO()
    console = Console(file=text, force_terminal=live, width=120, height=40)
    run(
        config(small_set),
        tmp_path / "run",
        display=LiveDisplay(console) if live else PlainDisplay(console),
    )
    shown = text.getvalue()
    assert re.search(
        r"better than its start: (yes|no|not clearly) \(view retrieval \d+ % against", shown
    )
    assert ("without labels" in shown) == live


def test_being_worse_is_warned_about_after_a_tenth_of_the_stream_once_until_it_is_over() -> None:
    watch = HealthWatch(images=1000)

    def warnings(position: int, better: bool) -> int:
        told = Guard(50.0 if better else 1.0, 20.0, images=512).to_json()
        return len(watch.look_at_evaluation({"position": position, "guard": told}))

    given = [(100, False), (200, False), (300, False), (400, True), (500, False)]
    assert [warnings(*each) for each in given] == [0, 1, 0, 0, 1]
    assert watch.look_at_evaluation({"position": 600}) == []


def test_a_poor_encoder_is_warned_about_also_where_other_features_hide_it() -> None:
    hidden = Guard(50.0, 20.0, images=512, encoder_score=12.0)
    (warning,) = HealthWatch(images=1000).look_at_evaluation(
        {"position": 900, "guard": hidden.to_json()}
    )
    assert warning.startswith("the encoder alone recognises views no better")
    assert "nothing useful" not in warning, "the answer was yes"


@pytest.mark.parametrize("labels", [False, True])
def test_where_there_are_labels_the_guard_leaves_the_verdict_to_them(labels: bool) -> None:
    worse = Guard(1.0, 20.0, images=512).to_json()
    record = {"position": 900, "guard": worse, **({"knn": 94.0} if labels else {})}
    (warning,) = HealthWatch(images=1000).look_at_evaluation(record)
    assert ("nothing useful" in warning) != labels
    assert ("kNN" in warning) == labels


def made(method: str, dataset: str, score: float, knn: float, better: bool) -> dict[str, Any]:
    """A record of a run whose start scored 10 and reached a kNN of 20."""
    told = {"score": score, "start_score": 10.0, "images": 512, "better": better}
    summary = {"guard": told, "knn": knn, "floors": {"random": {"knn": 20.0}}}
    return {"run": {"method": method, "dataset": dataset, "knn": knn}, "summary": summary}


def test_the_benchmark_tells_how_far_it_agrees_with_knn() -> None:
    records = [
        made("er", "mnist", 12, 21, True),
        made("er", "mnist", 15, 30, True),
        made("scale-plus", "cifar10", 40, 50, True),
        made("simclr", "cifar10", 9, 15, False),  # below its start, and told so
        made("simclr", "cifar10", 30, 19, True),  # below its start, and told the contrary
    ]
    unasked = {"run": {"method": "stam", "dataset": "mnist"}, "summary": {"knn": 90.0}}
    rows = table([*records, records[0], unasked]).splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert cells == [
        ["cifar10", "3", "1.00", "0.81", "2", "2", "1"],
        ["mnist", "2", "", "", "2", "0", "0"],
        ["scale-plus, all datasets", "1", "", "", "1", "0", "0"],
        ["all", "5", "0.70", "0.74", "4", "2", "1"],
    ]


def test_the_benchmark_reads_runs_and_records(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(finished)]) == 0
    assert "| all | 1 |  |  | " in capsys.readouterr().out
    assert main([str(tmp_path / "nothing.jsonl")]) == 2
    assert "nothing.jsonl" in capsys.readouterr().err
