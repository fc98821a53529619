"""Tables of finished runs, from records."""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console

from scale._errors import InputError
from scale.evaluate import MEASURES
from scale.report import COLUMNS, IN_SHORT, make_table
from scale.report.plots import Selection
from scale.report.plots.axes import drawn_groups

from .records import record


def features(records: list[dict[str, Any]]) -> list[str]:
    return [row.name for row in make_table(records).rows]


def test_rows_go_from_the_best_knn_to_the_worst_with_the_floors_among_them() -> None:
    records = [record("simclr", knn=25.0), record("er", knn=60.0), record("co2l", knn=35.0)]
    expected = ["er", "floor: pca (bank)", "co2l", "floor: pixels", "simclr", "floor: random"]
    assert features(records) == expected


def test_datasets_and_streams_stay_together() -> None:
    records = [record(knn=1.0), record(dataset="cifar10", knn=99.0), record("simclr", knn=98.0)]
    assert [row.dataset for row in make_table(records).rows] == ["cifar10"] * 4 + ["mnist"] * 5


def test_measures_time_and_memory_are_averaged_over_seeds() -> None:
    records = [record(seed=seed, knn=50.0 + 2 * seed) for seed in range(2)]
    table = make_table(records, ["knn", "time", "memory"])
    (row,) = (row for row in table.rows if row.name == "er")
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


def test_presets_are_shown_on_a_terminal_though_they_look_like_markup() -> None:
    preset = {"kappa": 0.1, "mu": 0.05, "views": "once", "memory_anchors": False}
    table = make_table([record("scale", params=preset)], IN_SHORT)
    console = Console(width=80)
    with console.capture() as captured:
        console.print(*table.terminal())
    assert "scale [paper]" in captured.get()
    assert "peak MB" in captured.get()


def test_every_measure_can_be_tabled_and_plotted() -> None:
    curve = {"position": [0, 100], "knn": [30.0, 50.0], "acc": [20.0, 25.0]}
    found = record(marks={"curve": curve})
    found["summary"] |= dict.fromkeys(set(MEASURES) - {"time", "memory", "least"}, 12.0)
    table = make_table([found], list(MEASURES))
    (i,) = (i for i, row in enumerate(table.rows) if not row.is_floor)
    assert all(table.cell(i, name) for name in MEASURES)
    for name in MEASURES:
        assert drawn_groups(Selection([found], None, name))[0].values(name)


def test_an_unknown_column_is_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"no column 'speed' .*knn"):
        make_table([record()], ["knn", "speed"])


def test_only_known_columns_are_shown_in_short() -> None:
    assert set(IN_SHORT) <= set(COLUMNS)


def test_evaluations_and_lines_that_are_no_records_are_passed_over() -> None:
    evaluation = {"run": record()["run"], "bank_size": 30, "measures": {}}
    assert len(make_table([record(), evaluation, 7]).rows) == 4  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"no records of runs .* 1 line"):
        make_table([evaluation])


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
    (i,) = (i for i, row in enumerate(table.rows) if row.name == "scale")
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


def test_only_the_floors_that_are_named_are_shown() -> None:
    names = {
        floors: [row.name for row in make_table([record()], ["knn"], floors=floors).rows]
        for floors in ((), ("pixels", "pca"))
    }
    assert names == {(): ["er"], ("pixels", "pca"): ["er", "floor: pca (bank)", "floor: pixels"]}
    with pytest.raises(InputError, match="no floor 'pixel'; did you mean 'pixels'"):
        make_table([record()], floors=["pixel"])


def test_streams_can_be_columns() -> None:
    records = [record(stream=stream, seed=seed, knn=knn) for stream, seed, knn in (
        ("seq", 0, 50.0), ("seq", 1, 52.0), ("iid", 0, 60.0), ("iid", 1, 60.0))]  # fmt: skip
    alone = record("simclr", stream="seq", knn=10.0)
    table = make_table([*records, alone], ["knn"], floors=())
    assert table.markdown_across_streams().splitlines()[:4] == [
        "| dataset | features | seeds | kNN, iid | kNN, seq |",
        "| --- | --- | --- | --- | --- |",
        "| mnist | er | 2 | 60.00 ± 0.00 | 51.00 ± 1.41 |",
        "| mnist | simclr | 1 |  | 10.00 |",
    ]
