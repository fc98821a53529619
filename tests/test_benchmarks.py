"""Benchmarks: they run, at a size that takes no time, and their rows can be stored and printed."""

import json
from importlib import import_module

import pytest
from benchmarks import _lines, equal_time
from benchmarks.__main__ import MODULES, keep_rows, main, save, table
from benchmarks._measure import machine, row
from benchmarks._page import page
from rich.console import Console

CHEAP = ("psa", "augment", "memory_update", "knn")


@pytest.mark.parametrize(
    "name", ["losses", *(pytest.param(name, marks=pytest.mark.slow) for name in CHEAP)]
)
def test_rows_carry_costs_and_ratios_and_can_be_stored_and_printed(name, tmp_path):
    rows = import_module(f"benchmarks.{name}").main(quick=True)
    assert rows
    for cells in rows:
        assert cells["ours"] > 0
        assert cells["ours_over_limit"] == cells["ours"] / cells["limit_cost"]
    for one in ("another", name, name):  # the second time in place of the first
        save(tmp_path / "rows.jsonl", one, rows)
    lines = (tmp_path / "rows.jsonl").read_text().splitlines()
    expected = [{"benchmark": one, **cells} for one in ("another", name) for cells in rows]
    assert [json.loads(line) for line in lines] == expected
    console = Console(width=80)
    with console.capture() as printed:
        console.print(table(name, rows))
    assert rows[0]["limit"].split()[0] in printed.get()


@pytest.mark.parametrize("name", MODULES)
def test_every_benchmark_says_what_it_measures_and_has_a_main(name):
    module = import_module(f"benchmarks.{name}")
    assert module.__doc__.endswith(".")
    assert callable(module.main)


def test_a_stopped_run_goes_on_with_the_benchmarks_that_are_missing(tmp_path):
    before = import_module("benchmarks.losses").main(quick=True)
    before[0]["what"] = "measured before the stop"
    keep_rows(tmp_path / "kept", "losses", before)
    options = ["--quick", "--resume", str(tmp_path / "kept"), "--page", str(tmp_path / "page.md")]
    assert main(["losses", "psa", *options]) == 0
    page = (tmp_path / "page.md").read_text()
    assert "measured before the stop" in page
    assert "PSA of 110" in page
    assert list((tmp_path / "kept").iterdir()) == [], "the next run measures all again"


def test_rows_are_kept_as_they_come_and_printed_again(tmp_path):
    path, rows = tmp_path / "rows.jsonl", [{"stream": "street", "events": 1, "noticed at": 6}]
    for name in ("what_is_new", "another"):
        assert _lines.keep(path, name, rows) == rows
    assert _lines.kept(path, "what_is_new") == rows
    assert _lines.table(rows).splitlines()[-1] == "| street | 1 | 6 |"


@pytest.mark.parametrize(("theirs", "shown"), [(5.0, "5 | yes"), (2.0, "2 | no")])
def test_the_page_begins_with_what_was_to_be_reached(theirs, shown):
    measured = {"released": [row("update, views ready", 1.0, ("plain", theirs))], "psa": []}
    written = page(measured, machine())
    assert f"| at least 4.5 | {shown} |" in written.split("## ")[0]
    assert "relative to an earlier" not in written, "what was not measured is not shown"
    assert "| what | ours | beside | its cost | beside / ours |\n" in written


@pytest.mark.slow
def test_the_cost_of_a_batch_is_compared_at_equal_updates(capsys):
    methods = ["--methods", "vae", "randum"]
    equal_time.main(["table1-small", "--dataset", "digits", "--table", "--updates", "1", *methods])
    header, _, *rows = capsys.readouterr().out.splitlines()
    assert header == "| method | digits, over scale's |"
    cells = [row.strip("| ").split(" | ") for row in rows]
    assert {name for name, _ in cells} == {"`vae`", "`randum`"}
    assert all(float(cost) > 0 for _, cost in cells)


@pytest.mark.parametrize(("limit", "shown"), [(0.5, "| 2 | no | 4 |"), (2.0, "| 2 | no |\n")])
def test_the_page_tells_what_the_limit_of_the_processor_allows(limit, shown):
    one = row("update, views ready", 1.0, ("plain", 2.0), ("products alone", limit))
    assert shown in page({"released": [one]}, machine())
