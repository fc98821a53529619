"""Floors as methods of a run, and beside every run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from scale.report import draw_run
from scale.runs import RunConfig, measure_again, read_metrics, run
from scale.runs.display import summary_table
from tests.runs.conftest import StopAt

PARAMS: dict[str, dict[str, object]] = {
    "simclr": {"steps_per_batch": 1},
    "stam": {"receptive_fields": [6]},
    "patches": {"clusters": 20},
}


def config(dataset: Path, method: str, **params: object) -> RunConfig:
    return RunConfig(
        dataset=str(dataset),
        stream_batch=20,
        evaluations=2,
        method=method,
        params={**PARAMS.get(method, {}), **params},
    )


@pytest.fixture(scope="module")
def finished(small_set: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function from a method's name to the folder of its run."""
    folder = tmp_path_factory.mktemp("floors")

    def get(method: str) -> Path:
        if not (folder / method).exists():
            run(config(small_set, method), folder / method)
        return folder / method

    return get


@pytest.mark.parametrize("method", ["pixels", "stam"])
def test_the_floors_beside_a_run_do_not_depend_on_its_method(
    method: str, finished: Callable[[str], Path]
) -> None:
    """SimCLR has an encoder and starts from it; most of these have none."""
    one, other = (json.loads((finished(m) / "floors.json").read_text()) for m in (method, "simclr"))
    assert one == other


def test_floors_see_images_of_the_side_that_the_learner_does(
    small_set: Path, tmp_path: Path
) -> None:
    summary = run(config(small_set, "pixels", image_side=8), tmp_path / "run")
    own = {name: summary[name] for name in summary["floors"]["pixels"]}
    assert own == summary["floors"]["pixels"]


@pytest.mark.parametrize("method", ["pixels", "random"])
def test_what_learns_nothing_stays_where_it_was(
    method: str, finished: Callable[[str], Path]
) -> None:
    evaluations = read_metrics(finished(method) / "metrics.jsonl", "evaluation")
    assert len(evaluations) == 3
    assert len({record["knn"] for record in evaluations}) == 1


@pytest.mark.parametrize("method", ["patches"])
def test_a_run_that_was_stopped_and_resumed_equals_one_that_was_not(
    method: str, finished: Callable[[str], Path], small_set: Path, tmp_path: Path
) -> None:
    settings, stopped = config(small_set, method), tmp_path / "stopped"
    with pytest.raises(KeyboardInterrupt):
        run(settings, stopped, checkpoint_seconds=0, display=StopAt(4))
    run(settings, stopped, resume=True)
    for name in ("metrics.jsonl", "learner.safetensors", "floors.json"):
        assert (stopped / name).read_bytes() == (finished(method) / name).read_bytes(), name


def test_a_run_without_memory_is_drawn_without_its_picture(
    finished: Callable[[str], Path],
) -> None:
    names = {path.name for path in draw_run(finished("pixels"))}
    assert names == {"curve.png", "stream.png", "embedding.png", "neighbours.png"}


def test_the_learner_is_the_last_row_even_when_it_is_a_floor(
    finished: Callable[[str], Path],
) -> None:
    out = finished("random")
    assert list(measure_again(out, 30)) == ["pixels", "pca", "random"]
    table = summary_table(json.loads((out / "summary.json").read_text()))
    assert list(table.columns[0].cells) == ["pixels", "pca (bank)", "random"]
