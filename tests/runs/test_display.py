from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from scale.evaluate import MEASURES
from scale.runs import LiveDisplay, PlainDisplay, RunConfig, read_metrics, run
from scale.runs.display import SHOWN, HealthWatch, measures_table

PARAMS = {"encoder": "cnn", "augmentation": "mnist", "steps_per_batch": 2, "memory_batch": 20}


def config(dataset: Path, **params: object) -> RunConfig:
    return RunConfig(
        dataset=str(dataset),
        method="scale",
        stream_batch=20,
        evaluations=2,
        params={**PARAMS, **params},
    )


def test_plain_lines_tell_of_floors_batches_evaluations_and_the_end(
    small_set: Path, tmp_path: Path
) -> None:
    text = io.StringIO()
    display = PlainDisplay(Console(file=text, width=120), seconds=0)
    run(config(small_set), tmp_path / "run", display=display)
    shown = text.getvalue()
    assert "scale on" in shown.splitlines()[0]
    for name in ("random", "pixels", "pca (bank)"):
        assert f"floor {name}: kNN" in shown
    assert "image 120/120" in shown
    assert "images/s" in shown
    assert "min left" in shown
    assert "pseudo positives" in shown
    assert shown.count("evaluation at image") == 2
    assert "\x1b" not in shown, "no control codes in a log"


def test_the_live_panel_shows_where_the_run_is(small_set: Path, tmp_path: Path) -> None:
    text = io.StringIO()
    console = Console(file=text, force_terminal=True, width=120, height=40)
    run(config(small_set), tmp_path / "run", display=LiveDisplay(console))
    shown = text.getvalue()
    for expected in ("120 of 120", "images/s", "loss", "last evaluation", "effective rank"):
        assert expected in shown


@pytest.mark.parametrize("name", ["[old]/x", "a[/b]", ":cat:", "[bold]"])
def test_names_of_the_users_own_are_shown_as_they_are(name: str) -> None:
    text = io.StringIO()
    display = PlainDisplay(Console(file=text, width=120))
    display.message(f"reading ./{name}")
    numbers = {"knn": 50.0, "average": 50.0, "forgetting": 0.0, "timing": {"wall_seconds": 1.0}}
    place = {"method": "scale", "dataset": f"./{name}", "stream": "seq"}
    display.finish({**place, **numbers, "floors": {"pca": {"knn": 40.0}}})
    assert f"reading ./{name}\n" in text.getvalue()
    assert f"scale on ./{name}" in text.getvalue()


@pytest.mark.parametrize("width", [70, 80, 120])
def test_titles_give_way_before_names_and_numbers_do(width: int) -> None:
    text = io.StringIO()
    rows = {name: dict.fromkeys(SHOWN, 123.4) for name in ("random", "scale-plus")}
    Console(file=text, width=width).print(measures_table(rows, "final"))
    assert "scale-plus" in text.getvalue()
    assert text.getvalue().count("123.4") == 2 * len(SHOWN)


def test_the_literal_settings_are_warned_about_on_a_class_ordered_stream(
    small_set: Path, tmp_path: Path
) -> None:
    text = io.StringIO()
    literal = config(small_set, kappa=0.5, mu=0.01)
    run(literal, tmp_path / "run", display=PlainDisplay(Console(file=text, width=200)))
    assert "stream views pass as positives" in text.getvalue()


def test_collapse_is_recorded_and_shown(tmp_path: Path) -> None:
    np.save(tmp_path / "same.npy", np.full((60, 16, 16), 90, np.uint8))
    text = io.StringIO()
    still = config(tmp_path / "same.npy", augmentation="none")
    still.stream = "as-is"
    summary = run(still, tmp_path / "run", display=PlainDisplay(Console(file=text, width=200)))
    assert summary["collapsed"]
    assert "collapsed" in text.getvalue()
    batches = read_metrics(tmp_path / "run" / "metrics.jsonl", "batch")
    assert all(batch["collapsed"] for batch in batches)


def test_a_warning_is_given_once_until_it_is_over() -> None:
    watch = HealthWatch(stream_batch=10)
    sick = {"collapsed": True, "effective_rank": 1.0}
    well = {"collapsed": False, "effective_rank": 9.0}
    given = [len(watch.look(record)) for record in (well, sick, sick, well, sick)]
    assert given == [0, 1, 0, 0, 1]


@pytest.mark.parametrize("value", [None, 0.0])
def test_a_record_without_pseudo_positives_is_fine(value: float | None) -> None:
    assert HealthWatch(stream_batch=10).look({"pseudo_positives": value}) == []


def test_the_titles_of_the_measures_fit_in_80_columns() -> None:
    rows = {"pca": dict.fromkeys(MEASURES, 50.0), "scale-plus": dict.fromkeys(MEASURES, 50.0)}
    console = Console(width=80, file=io.StringIO())
    with console.capture() as shown:
        console.print(measures_table(rows, "scale-plus on digits seq"))
    assert "…" not in shown.get()
