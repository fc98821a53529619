"""Benchmarks: they run, at a size that takes no time, and their rows can be stored and printed."""

import json
from importlib import import_module

import pytest
from benchmarks.__main__ import MODULES, append, keep_rows, main, table
from rich.console import Console

CHEAP = ("psa", "augment", "losses", "memory_update")


@pytest.mark.parametrize("name", CHEAP)
def test_rows_carry_costs_and_ratios_and_can_be_stored_and_printed(name, tmp_path):
    rows = import_module(f"benchmarks.{name}").main(quick=True)
    assert rows
    for cells in rows:
        assert cells["ours"] > 0
        assert cells["ours_over_limit"] == cells["ours"] / cells["limit_cost"]
    append(tmp_path / "rows.jsonl", rows)
    lines = (tmp_path / "rows.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == rows
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
