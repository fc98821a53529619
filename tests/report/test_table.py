"""Tables of finished runs, from records."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from scale._errors import InputError
from scale.report import COLUMNS, IN_SHORT, make_table


def record(method: str = "er", seed: int = 0, knn: float = 50.0, **changes: Any) -> dict[str, Any]:
    """A record as a run leaves it, with what a table needs."""
    timing = {"wall_seconds": 120.0, "cpu_seconds": 60.0, "peak_memory_mb": 512.4}
    floors = {"random": {"knn": 20.0}, "pixels": {"knn": 30.0}, "pca": {"knn": 40.0}}
    timing = changes.pop("timing", timing)
    usual = {"dataset": "mnist", "stream": "seq", "validation": False, "params": {}}
    return {
        "run": {**usual, "method": method, "seed": seed, **changes},
        "summary": {"knn": knn, "acc": 10.0, "floors": floors, "timing": timing},
    }


def features(records: list[dict[str, Any]]) -> list[str]:
    return [row.features for row in make_table(records).rows]


def test_rows_go_from_the_best_knn_to_the_worst_with_the_floors_among_them() -> None:
    records = [record("simclr", knn=25.0), record("er", knn=60.0), record("co2l", knn=35.0)]
    expected = ["er", "floor: pca", "co2l", "floor: pixels", "simclr", "floor: random"]
    assert features(records) == expected


def test_datasets_and_streams_stay_together() -> None:
    records = [record(knn=1.0), record(dataset="cifar10", knn=99.0), record("simclr", knn=98.0)]
    assert [row.dataset for row in make_table(records).rows] == ["cifar10"] * 4 + ["mnist"] * 5


def test_a_floor_gives_way_to_the_method_of_its_name_with_as_many_seeds() -> None:
    scale = [record(seed=seed) for seed in range(2)]
    one, two = [record("pixels", 0, 30.0)], [record("pixels", seed, 30.0) for seed in range(2)]
    assert {"pixels", "floor: pixels"} <= set(features(scale + one))
    shown = features(scale + two)
    assert "pixels" in shown
    assert "floor: pixels" not in shown
    assert "floor: pca" in shown


def test_measures_time_and_memory_are_averaged_over_seeds() -> None:
    records = [record(seed=seed, knn=50.0 + 2 * seed) for seed in range(2)]
    table = make_table(records, ["knn", "time", "memory"])
    (row,) = (row for row in table.rows if row.features == "er")
    assert row.seeds == 2
    cells = [row.cell(column) for column in table.columns]
    assert cells == ["51.00 ± 1.41", "1.00 ± 0.00", "512 ± 0"]
    assert "| er | 2 | 51.00 ± 1.41 | 1.00 ± 0.00 | 512 ± 0 |" in table.markdown()


def test_time_is_the_cpus_and_the_walls_when_any_record_lacks_the_other() -> None:
    old = {"wall_seconds": 120.0, "peak_memory_mb": 512.0}
    new_only, mixed = [record()], [record(), record("simclr", timing=old)]
    assert "CPU min" in make_table(new_only).markdown()
    assert "wall min" in make_table(mixed).markdown()
    assert [row.cell("time") for row in make_table(mixed).rows[:2]] == ["2.00", "2.00"]


def test_a_record_without_peak_memory_has_an_empty_cell() -> None:
    timing = {"wall_seconds": 120.0, "cpu_seconds": 60.0}
    (row,) = (row for row in make_table([record(timing=timing)]).rows if not row.is_floor)
    assert row.cell("memory") == ""


def test_settings_that_differ_are_named_and_those_left_out_are_the_defaults() -> None:
    records = [
        record(params={}),  # from before the method had parameters
        record(seed=1, params={"tau": 0.1, "memory_size": 1280}),
        record(params={"tau": 0.5}, knn=45.0),
    ]
    rows = [row for row in make_table(records).rows if not row.is_floor]
    assert [(row.features, row.seeds) for row in rows] == [("er", 2), ("er, tau 0.5", 1)]


def test_presets_are_shown_on_a_terminal_though_they_look_like_markup() -> None:
    preset = {"kappa": 0.1, "mu": 0.05, "views": "once", "memory_anchors": False}
    table = make_table([record("scale", params=preset)], IN_SHORT)
    console = Console(width=80)
    with console.capture() as captured:
        console.print(*table.terminal())
    assert "scale [paper]" in captured.get()
    assert "peak MB" in captured.get()


def test_the_papers_figure_stands_beside_ours_where_there_is_one() -> None:
    assert "paper" in make_table([record("scale", dataset="cifar10")]).columns
    assert "paper" not in make_table([record("scale")]).columns


def test_an_unknown_column_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"no column 'speed' .*knn"):
        make_table([record()], ["knn", "speed"])


def test_only_known_columns_are_shown_in_short() -> None:
    assert set(IN_SHORT) <= set(COLUMNS)


def test_a_run_recorded_twice_counts_once() -> None:
    rows = make_table([record(), record(), record(seed=1)]).rows
    assert {row.seeds for row in rows} == {2}


def test_timings_among_the_records_are_passed_over() -> None:
    timing = {"experiment": "time", "seconds": 1.0}
    assert len(make_table([record(), timing]).rows) == len(make_table([record()]).rows)
    with pytest.raises(InputError, match="no records of runs"):
        make_table([timing])


def test_other_streams_and_evaluation_sets_have_rows_of_their_own() -> None:
    rows = make_table([record(), record(samples_per_class=100), record(validation=True)]).rows
    assert {row.stream for row in rows} == {"seq", "seq, samples_per_class 100", "seq, validation"}


def test_the_papers_value_stands_beside_its_own_memory_policy_only() -> None:
    usual = record("scale", dataset="cifar10", stream="seq-im")
    other = record("scale", dataset="cifar10", stream="seq-im", params={"memory_policy": "fifo"})
    rows = {row.features: row.cell("paper") for row in make_table([usual, other]).rows}
    assert rows["scale"] == "32.21"
    assert rows["scale, memory_policy fifo"] == ""
