"""Tables of finished runs, from records."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from scale._errors import InputError
from scale.report import COLUMNS, IN_SHORT, make_table

from .records import record


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


def test_measures_that_one_seed_lacks_are_averaged_over_the_others() -> None:
    records = [record(seed=seed, knn=50.0) for seed in range(3)]
    del records[0]["summary"]["acc"]
    records[1]["summary"]["acc"] = None  # not a number
    (row,) = (row for row in make_table(records).rows if not row.is_floor)
    assert (row.seeds, row.cell("acc")) == (3, "10.00")


def test_evaluations_and_lines_that_are_no_records_are_passed_over() -> None:
    evaluation = {"run": record()["run"], "bank_size": 30, "measures": {}}
    assert len(make_table([record(), evaluation, 7]).rows) == 4  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"no records of runs .* 1 line"):
        make_table([evaluation])


def test_a_record_with_an_option_of_the_future_is_refused_in_one_sentence() -> None:
    with pytest.raises(InputError, match="telepathy"):
        make_table([record(telepathy=True)])


def test_rows_that_differ_only_in_what_is_not_told_are_told_apart() -> None:
    records = [
        record(evaluations=5),
        record(evaluations=10, knn=49.0),
        record("simclr", evaluations=5, knn=48.0),
    ]
    shown = [name for name in features(records) if not name.startswith("floor")]
    assert shown == ["er, evaluations 5", "er, evaluations 10", "simclr"]


def test_usual_values_that_were_given_are_the_same_as_not_giving_them() -> None:
    given = record(seed=1, stream_batch=256, samples_per_class=4096, bank_size=1000)
    numbers = [record(params={"lam": 0}), record(seed=1, params={"lam": 0.0})]
    for records in (
        [record(), given],
        [{**r, "run": {**r["run"], "method": "scale"}} for r in numbers],
    ):
        (row,) = (row for row in make_table(records).rows if not row.is_floor)
        assert (row.stream, row.seeds) == ("seq", 2)


@pytest.mark.parametrize("against", [None, "er", "er, tau 0.2"])
def test_tables_fit_80_columns_and_break_no_number(against: str | None) -> None:
    records = [
        record(method, seed, 30.0 + 20 * seed, params={"tau": tau}, dataset="cifar10")
        for method, tau in (("er", 0.1), ("er", 0.2), ("scale", 0.1), ("osiris-r", 0.1))
        for seed in range(3)
    ]
    table = make_table(records, IN_SHORT, against=against)
    console = Console(width=80)
    with console.capture() as captured:
        console.print(*table.terminal(80), sep="\n")
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= 80
    (line,) = (line for line in lines if line.startswith("scale "))
    (i,) = (i for i, row in enumerate(table.rows) if row.features == "scale")
    assert table.cell(i, "knn") in line
    assert "32.18" in line
    if against is not None:
        assert table.cell(i, "versus") in line


@pytest.mark.parametrize("width", [20, 40, 240])
def test_no_width_loses_a_digit_of_knn(width: int) -> None:
    table = make_table([record(knn=12.34)], IN_SHORT)
    console = Console(width=width)
    with console.capture() as captured:
        console.print(*table.terminal(width), sep="\n")
    assert "12.34" in captured.get()


def test_columns_that_were_asked_for_are_whole_on_a_narrow_terminal() -> None:
    table = make_table([record(knn=12.34)], list(COLUMNS))
    console = Console(width=60)
    with console.capture() as captured:
        console.print(*table.terminal(), sep="\n")
    assert "…" not in captured.get()


def test_the_lowest_knn_leaves_out_the_first_tenth_and_floors_never_change() -> None:
    curve = {"position": [0, 99, 100, 500, 1000], "knn": [1.0, 2.0, 33.0, 31.0, 50.0]}
    learner = record(marks={"curve": curve})
    rows = {row.features: row for row in make_table([learner], ["least", "average"]).rows}
    assert rows["er"].measured["least"] == {0: 31.0}
    assert rows["floor: pca"].measured["least"] == {0: 40.0}
    assert rows["floor: pca"].cell("average") == "40.00"
    (row,) = (row for row in make_table([record()]).rows if not row.is_floor)  # without a curve
    assert row.cell("least") == ""
