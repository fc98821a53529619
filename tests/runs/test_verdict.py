from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scale.runs.curve import Curve, sparkline
from scale.runs.verdict import verdict

CONFIG = {"run": {"dataset": "x", "method": "scale"}, "data": {"evaluation": {"eval": 800}}}
FLOORS = {"random": {"knn": 14.0}, "pixels": {"knn": 36.0}}


@pytest.mark.parametrize(
    ("summary", "learned"),
    [
        ({"knn": 50.0, "floors": FLOORS}, "yes"),
        ({"knn": 37.0, "floors": FLOORS}, "not clearly"),
        ({"knn": 30.0, "floors": FLOORS}, "some"),
        ({"knn": 14.0, "floors": FLOORS}, "no"),
        ({"knn": 94.0, "floors": {"random": {"knn": 94.5}}}, "not clearly"),
        ({"knn": 50.0, "floors": {}}, "unknown"),
        ({"knn": 50.0, "floors": FLOORS, "collapsed": True}, "no"),
        ({"knn": 50.0, "floors": FLOORS, "held_back": True}, "no"),
        ({"guard": {"score": 41.0, "start_score": 22.0, "images": 512}}, "yes"),
        ({"guard": {"score": 5.3, "start_score": 4.1, "images": 512}}, "not clearly"),
        ({"guard": {"score": 4.0, "start_score": 4.1, "images": 512}}, "no"),
        ({}, "unknown"),
    ],
)
def test_it_says_in_one_sentence_whether_a_run_learned(
    summary: dict[str, Any], learned: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    found = verdict({"method": "scale", **summary}, tmp_path)
    assert found.learned == learned
    assert found.text.startswith("It ")
    assert found.text.count(". ") == 0
    assert found.next.startswith(f"scale report {tmp_path}")


def test_a_run_that_goes_on_is_compared_with_its_start(tmp_path: Path) -> None:
    config = {**CONFIG, "start": {"learner": "x", "digest": "y", "images": 9}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    first = {"kind": "evaluation", "position": 0, "knn": 60.0}
    (tmp_path / "metrics.jsonl").write_text(json.dumps(first) + "\n")
    found = verdict({"method": "scale", "knn": 50.0, "floors": FLOORS}, tmp_path)
    assert found.learned == "no"
    assert "before this stream 60.0 %" in found.text


def test_a_method_that_is_a_floor_is_not_compared_with_itself() -> None:
    found = verdict({"method": "pca", "knn": 36.0, "floors": {**FLOORS, "pca": {"knn": 40.0}}})
    assert "pca" not in found.text


def test_a_method_that_is_a_floor_learns_nothing() -> None:
    found = verdict({"method": "pixels", "knn": 36.0, "floors": FLOORS}, Path("there"))
    assert found.learned == "no"
    assert found.text == "It learns nothing, as a floor for others: kNN 36.0 %."
    assert found.next == "scale report there"
    assert verdict({"method": "frozen", "knn": 60.0, "floors": FLOORS}).learned == "yes"


def test_a_curve_keeps_its_shape_however_long_it_is() -> None:
    curve = Curve()
    for i in range(1, 5001):
        curve.add(i, float(i))
    assert curve.draw(7, 5000, 5000) == "▁▂▃▄▅▆▇"
    assert (curve.low, curve.high, curve.last) == (1.0, 5000.0, 5000.0)


def test_a_curve_is_blank_where_the_stream_has_not_been() -> None:
    curve = Curve(held=True)
    curve.add(0, 1.0)
    curve.add(50, 2.0)
    assert curve.draw(4, 100, 75) == "▁▁▇ "


def test_numbers_that_are_not_finite_leave_no_mark() -> None:
    curve = Curve()
    curve.add(10, None)
    curve.add(20, float("nan"))
    assert sparkline([None, None]) == curve.draw(2, 20, 20) == "  "
