"""What rows of benches are called."""

from __future__ import annotations

from typing import Any

from scale.report import make_table

from .records import of_variant, record


def names(records: list[dict[str, Any]]) -> dict[str, int]:
    """Return the learners' rows and how many seeds each has."""
    return {row.features: row.seeds for row in make_table(records).rows if not row.is_floor}


def two_variants(**marks: str) -> list[dict[str, Any]]:
    of_seeds = []
    for seed in range(2):
        of_seeds.append(of_variant("with", seed, **marks))
        of_seeds.append(of_variant("without", seed, params={"lam": 0.0}, **marks))
    return of_seeds


def test_rows_of_one_experiment_have_its_variants_names() -> None:
    assert names(two_variants()) == {"with": 2, "without": 2}


def test_rows_of_several_sources_are_told_by_their_settings_and_seeds_count_once() -> None:
    described = {"scale": 2, "scale, lam 0.0": 2}
    assert names(two_variants() + two_variants(experiment="other")) == described
    assert names([*two_variants(), record("scale", 1)]) == described
    assert names([*two_variants(), record("scale", 2)]) == {"scale": 3, "scale, lam 0.0": 2}


def test_variants_of_the_same_settings_stay_apart() -> None:
    assert names([of_variant("one"), of_variant("two")]) == {"one": 1, "two": 1}


def test_a_variant_that_ran_with_several_settings_is_told_with_them() -> None:
    records = [of_variant("with", params={"steps_per_batch": n, "tau": 0.2}) for n in (1, 5)]
    assert names(records) == {"with, steps_per_batch 1": 1, "with, steps_per_batch 5": 1}


def test_records_of_an_experiment_without_variants_are_told_by_their_settings() -> None:
    assert names([of_variant("", params={"lam": 0.5})]) == {"scale, lam 0.5": 1}


def test_a_variant_with_the_name_of_a_floor_does_not_replace_it() -> None:
    rows = make_table([of_variant("random", params={"memory_policy": "random"})]).rows
    assert {"random", "floor: random"} <= {row.features for row in rows}
