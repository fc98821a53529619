"""Claims of the paper, held against records."""

from __future__ import annotations

import pytest
from scipy import stats

from scale._errors import InputError
from scale.report.claims import Claim, check_claim, check_levels
from scale.report.rows import make_rows
from tests.report.records import record

BETTER = Claim(says="replay helps", better="er", than=("simclr",))


def rows_of(er: list[float], simclr: list[float], **changes: object) -> list:
    records = [record("er", i, knn, **changes) for i, knn in enumerate(er)]
    records += [record("simclr", i, knn, **changes) for i, knn in enumerate(simclr)]
    return make_rows(records, cpu_time=True)


@pytest.mark.parametrize(
    ("er", "simclr", "verdict"),
    [
        ([50, 51, 52], [40, 41.5, 42], "agrees"),
        ([40, 41, 42], [50, 51.5, 52], "does not agree"),
        ([50, 40, 45], [45, 44, 46], "undecided"),
        ([50], [10], "undecided"),  # one seed does not tell
    ],
)
def test_the_interval_of_the_paired_difference_decides(
    er: list[float], simclr: list[float], verdict: str
) -> None:
    (finding,) = check_claim(BETTER, rows_of(er, simclr))
    assert finding.verdict == verdict
    assert finding.where == "mnist seq"


def test_a_margin_has_to_be_passed_by_the_whole_interval() -> None:
    rows = rows_of([50, 51, 52], [40, 41.5, 42])
    by = Claim(says="", better="er", than=("simclr",), by=11.0)
    assert check_claim(by, rows)[0].verdict == "does not agree"


def test_a_claim_is_checked_wherever_both_rows_are_or_only_where_it_says() -> None:
    rows = rows_of([50, 51], [40, 41]) + rows_of([50, 51], [40, 41], stream="iid")
    assert [f.where for f in check_claim(BETTER, rows)] == ["mnist seq", "mnist iid"]
    on_iid = Claim(says="", better="er", than=("simclr",), stream="iid")
    assert [f.where for f in check_claim(on_iid, rows)] == ["mnist iid"]
    nobody = Claim(says="", better="er", than=("pnn",))
    assert check_claim(nobody, rows) == []


def test_a_claim_can_compare_two_streams() -> None:
    rows = rows_of([50, 51, 52], [40, 41, 42], samples_per_class=99)
    rows += rows_of([52, 53.5, 54], [40, 41, 42], stream="iid", samples_per_class=99)
    near = Claim(says="", better="er", than=("er",), stream="seq", on="iid", by=-3.0)
    (finding,) = check_claim(near, rows)
    assert (finding.where, finding.verdict) == ("mnist seq, samples_per_class 99", "agrees")
    assert finding.measured.startswith("er on iid -2.17 [")
    nowhere = Claim(says="", better="er", than=("er",), stream="seq", on="seq-bl")
    assert check_claim(nowhere, rows) == []


@pytest.mark.parametrize(
    ("er", "bound", "verdict"),
    [
        ([50, 51, 52], {"at_least": 45}, "agrees"),
        ([50, 51, 52], {"at_least": 51}, "undecided"),
        ([50, 51, 52], {"at_least": 60}, "does not agree"),
        ([1.0, 1.1, 0.9], {"at_most": 2}, "agrees"),
        ([1.0, 1.1, 3.9], {"at_most": 2}, "undecided"),
        ([4.0, 4.1, 3.9], {"at_most": 2}, "does not agree"),
        ([50], {"at_least": 45}, "undecided"),
    ],
)
def test_a_bound_is_held_against_the_interval_of_the_mean(
    er: list[float], bound: dict, verdict: str
) -> None:
    claim = Claim.parse({"says": "enough", "better": "er", "ours": True, **bound}, "notes")
    (finding,) = check_claim(claim, rows_of(er, []))
    assert (finding.verdict, finding.of_paper) == (verdict, False)
    words = next(iter(bound)).replace("_", " ")
    assert finding.measured.startswith(f"{words} {next(iter(bound.values()))}: ")


def test_another_measure_than_knn_is_named() -> None:
    claim = Claim(says="replay helps", better="er", than=("simclr",), measure="acc")
    (finding,) = check_claim(claim, rows_of([50, 51, 52], [40, 41, 42]))
    assert finding.claim == "replay helps, by ACC"


def test_a_floor_can_be_what_is_beaten() -> None:
    claim = Claim(says="", better="er", than=("floor: pca",))
    (finding,) = check_claim(claim, rows_of([50, 51, 52], []))
    assert finding.verdict == "agrees"


def test_a_value_of_the_paper_agrees_when_it_is_within_the_interval_of_our_mean() -> None:
    values = [31.0, 32.0, 33.5]
    records = [record("scale", i, knn, dataset="cifar10") for i, knn in enumerate(values)]
    (finding,) = check_levels(make_rows(records, cpu_time=True), "why")
    low, high = stats.ttest_1samp(values, 0).confidence_interval()
    assert low < 32.18 < high
    assert f"[{low:.2f}, {high:.2f}]" in finding.measured
    assert finding.verdict == "agrees"
    lower = [record("scale", i, knn - 9, dataset="cifar10") for i, knn in enumerate(values)]
    assert check_levels(make_rows(lower, cpu_time=True))[0].verdict == "does not agree"
    assert check_levels(make_rows(lower[:1], cpu_time=True))[0].verdict == "undecided"


def test_an_interval_that_holds_almost_any_value_leaves_the_papers_undecided() -> None:
    values = [26.0, 37.0]
    records = [record("scale", i, knn, dataset="cifar10") for i, knn in enumerate(values)]
    (finding,) = check_levels(make_rows(records, cpu_time=True))
    assert finding.verdict == "undecided"


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"says": "x", "better": "er"}, "needs 'than', 'at_least' or 'at_most'"),
        ({"says": "x", "better": "er", "at_least": "45"}, "at_least of a claim is '45'"),
        ({"says": "x", "better": "er", "than": "simclr"}, "than of a claim is 'simclr'"),
        ({"says": "x", "better": "er", "than": ["a"], "wyh": "y"}, "no 'wyh'"),
        ({"says": "x", "better": "er", "than": ["a"], "measure": "knm"}, "no measure 'knm'"),
    ],
)
def test_a_claim_that_cannot_be_read_is_named(given: dict, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Claim.parse(given, "notes.toml")
