"""Differences that are paired over seeds, against scipy's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp, ttest_rel

from scale._errors import InputError, UnknownNameError
from scale.report import make_table
from scale.report.paired import Difference, holm, mean_interval, p_value, paired_difference

from .records import of_variant, record

VALUES = st.dictionaries(st.integers(0, 9), st.floats(0, 100), max_size=8)


@given(VALUES, VALUES)
def test_difference_and_interval_are_scipys_over_the_common_seeds(
    values: dict[int, float], others: dict[int, float]
) -> None:
    common = sorted(set(values) & set(others))
    found = paired_difference(values, others)
    if not common:
        assert found is None
        return
    assert found is not None
    ours, theirs = [values[seed] for seed in common], [others[seed] for seed in common]
    assert found.pairs == len(common)
    assert found.mean == pytest.approx((sum(ours) - sum(theirs)) / len(common), abs=1e-9)
    if len(common) < 2:
        assert found.interval is None
    elif len({a - b for a, b in zip(ours, theirs, strict=True)}) > 1:
        expected = ttest_rel(ours, theirs).confidence_interval(0.95)
        assert found.interval == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_equal_differences_have_an_interval_without_width() -> None:
    assert paired_difference({0: 3.0, 1: 4.0}, {0: 1.0, 1: 2.0}) == Difference(2.0, (2.0, 2.0), 2)


def test_the_interval_of_a_mean_is_scipys() -> None:
    expected = ttest_1samp([1.0, 4.0, 6.0, 2.0], 0).confidence_interval(0.95)
    assert mean_interval([1.0, 4.0, 6.0, 2.0]) == pytest.approx((expected.low, expected.high))
    assert mean_interval([1.0]) is None
    assert p_value([1.0, 4.0, 6.0, 2.0], 1.0) == pytest.approx(
        ttest_1samp([1.0, 4.0, 6.0, 2.0], 1.0).pvalue
    )
    assert [p_value([2.0, 2.0], bound) for bound in (1.0, 2.0)] == [0.0, 1.0]


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_rejects_no_less_than_bonferroni_and_stops_at_the_first_that_holds(
    p_values: list[float],
) -> None:
    rejected = holm(p_values)
    for p, is_rejected in zip(p_values, rejected, strict=True):
        assert is_rejected or p > 0.05 / len(p_values)
        assert not is_rejected or p <= 0.05
    kept = [p for p, is_rejected in zip(p_values, rejected, strict=True) if not is_rejected]
    assert not kept or min(kept) > 0.05 / len(kept)


def test_a_difference_that_rounds_to_nothing_has_no_sign_of_its_own() -> None:
    assert Difference(-0.001, (-0.004, 0.002), 2).text() == "+0.00 [0.00, 0.00]"
    assert Difference(-12.345, None, 1).text() == "-12.35"


def cells(records: list[dict[str, object]], against: str, **options: str) -> dict[str, str]:
    table = make_table(records, against=against, **options)
    return {row.name: table.cell(i, "versus") for i, row in enumerate(table.rows)}


def test_learners_and_floors_are_compared_and_the_reference_is_not() -> None:
    knn = {"er": [50.0, 52.0, 57.0], "simclr": [41.0, 45.0, 47.0]}
    records = [record(name, seed, knn[name][seed]) for name in knn for seed in range(3)]
    shown = cells(records, "er")
    expected = ttest_rel(knn["simclr"], knn["er"]).confidence_interval(0.95)
    assert shown["simclr"] == f"-8.67 [{expected.low:.2f}, {expected.high:.2f}]"
    assert shown["floor: pca (bank)"].startswith("-13.00 [")
    assert shown["er"] == ""
    assert cells(records, "floor: pca (bank)")["er"].startswith("+13.00 [")
    assert cells(records, "floor: pca") == cells(records, "floor: pca (bank)")


def test_only_common_seeds_of_one_dataset_and_stream_are_paired() -> None:
    records = [record("er", seed, 50.0 + seed) for seed in range(3)]
    records += [record("simclr", seed, 40.0) for seed in (1, 2, 3, 4)]
    records += [record("co2l", 0, 45.0), record("der", 9, 45.0)]
    records += [record("cla", seed, 45.0, stream="iid") for seed in range(3)]
    shown = cells(records, "er")
    assert shown["simclr"] == "-11.50 [-17.85, -5.15] (n=2)"
    assert shown["co2l"] == "-5.00", "one pair has no interval"
    assert shown["der"] == shown["cla"] == "", "no common seed, and another stream"


def test_a_method_is_enough_of_a_name_when_one_row_has_it() -> None:
    records = [record("er", params={"tau": 0.2}), record("simclr", knn=45.0)]
    assert cells(records, "er")["simclr"] == "-5.00"
    assert cells(records, "er, tau 0.2") == cells(records, "er")
    several = [*records, record("er", params={"tau": 0.3})]
    with pytest.raises(InputError, match=r"2 rows on mnist seq .*: er, tau 0.2; er, tau 0.3"):
        cells(several, "er")
    assert cells([*several, record("er")], "er")["simclr"] == "-5.00", "all of a row's name"


def test_a_variant_names_its_row_also_among_other_records() -> None:
    records = [of_variant("with"), of_variant("without", knn=40.0, params={"lam": 0.0})]
    assert cells(records, "without")["with"] == "+10.00"
    assert cells([*records, record("simclr")], "without")["scale"] == "+10.00"


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"'simclr'\? \(known: er; floor: pca; .*simclr"):
        cells([record("er"), record("simclr")], "simcrl")


def test_the_first_column_is_compared_unless_a_measure_is_named() -> None:
    records = [record("er"), record("simclr", knn=45.0)]
    for found, options in (("-5.00", {}), ("-2.50", {"measure": "acc"})):
        assert cells(records, "er", **options)["simclr"] == found
    table = make_table(records, ["acc", "knn"], against="er")
    assert table.columns == ["acc", "versus", "knn"]
    table = make_table(records, ["acc"], against="er", measure="knn")
    assert table.columns == ["knn", "versus", "acc"], "what is compared is shown"
    assert "| vs er |" in table.markdown()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"against": "er", "measure": "kn"}, "did you mean 'knn'"),
        ({"against": "er", "measure": "paper"}, "no measure 'paper'"),
        ({"measure": "knn"}, "--against"),
    ],
)
def test_a_measure_that_cannot_be_compared_is_refused(
    options: dict[str, str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        make_table([record()], **options)  # type: ignore[arg-type]


def test_two_seeds_are_said_to_give_wide_intervals() -> None:
    for seeds, told in ((2, True), (3, False)):
        records = [record(method, s, 50.0 + s) for method in ("er", "scale") for s in range(seeds)]
        text = make_table(records, against="er").markdown()
        assert ("2 seeds: intervals are very wide; use --seeds 3 or more." in text) is told
