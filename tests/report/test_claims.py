"""Claims, and what records say about them."""

from __future__ import annotations

import pytest
from scipy import stats

from scale._errors import InputError
from scale._schema import read_table
from scale.report.claims import Claim, check_claim, check_levels, overall
from scale.report.table import make_table
from tests.report.records import CODE, record

BETTER = Claim(says="replay helps", better="er", than=["simclr"])


def rows_of(er: list[float], simclr: list[float], **changes: object) -> list:
    records = [record("er", i, knn, **changes) for i, knn in enumerate(er)]
    records += [record("simclr", i, knn, **changes) for i, knn in enumerate(simclr)]
    return make_table(records).rows


@pytest.mark.parametrize(
    ("er", "simclr", "verdict"),
    [
        ([50, 51, 52], [40, 41.5, 42], "confirmed"),
        ([40, 41, 42], [50, 51.5, 52], "refuted"),
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
    by = Claim(says="", better="er", than=["simclr"], by=11.0)
    assert check_claim(by, rows)[0].verdict == "refuted"


def test_a_claim_is_checked_wherever_both_rows_are_or_only_where_it_says() -> None:
    rows = rows_of([50, 51], [40, 41]) + rows_of([50, 51], [40, 41], stream="iid")
    assert [f.where for f in check_claim(BETTER, rows)] == ["mnist seq", "mnist iid"]
    on_iid = Claim(says="", better="er", than=["simclr"], stream="iid")
    assert [f.where for f in check_claim(on_iid, rows)] == ["mnist iid"]
    nobody = Claim(says="", better="er", than=["pnn"])
    assert check_claim(nobody, rows) == []


def test_a_claim_can_compare_two_streams() -> None:
    rows = rows_of([50, 51, 52], [40, 41, 42], samples_per_class=99)
    rows += rows_of([52, 53.5, 54], [40, 41, 42], stream="iid", samples_per_class=99)
    near = Claim(says="", better="er", than=["er"], stream="seq", on="iid", by=-3.0)
    (finding,) = check_claim(near, rows)
    assert (finding.where, finding.verdict) == ("mnist seq, samples_per_class 99", "confirmed")
    assert finding.other == "er on iid, by -3"
    assert finding.ours.startswith("-2.17 [")
    nowhere = Claim(says="", better="er", than=["er"], stream="seq", on="seq-bl")
    assert check_claim(nowhere, rows) == []


@pytest.mark.parametrize(
    ("er", "bound", "verdict"),
    [
        ([50, 51, 52], {"at_least": 45}, "confirmed"),
        ([50, 51, 52], {"at_least": 51}, "undecided"),
        ([50, 51, 52], {"at_least": 60}, "refuted"),
        ([1.0, 1.1, 0.9], {"at_most": 2}, "confirmed"),
        ([1.0, 1.1, 3.9], {"at_most": 2}, "undecided"),
        ([4.0, 4.1, 3.9], {"at_most": 2}, "refuted"),
        ([50], {"at_least": 45}, "undecided"),
    ],
)
def test_a_bound_is_held_against_the_interval_of_the_mean(
    er: list[float], bound: dict, verdict: str
) -> None:
    claim = Claim(says="enough", better="er", ours=True, **bound)
    (finding,) = check_claim(claim, rows_of(er, []))
    assert (finding.verdict, finding.of_paper) == (verdict, False)
    words = next(iter(bound)).replace("_", " ")
    assert finding.other == f"{words} {next(iter(bound.values()))}"


def test_another_measure_than_knn_is_named() -> None:
    claim = Claim(says="replay helps", better="er", than=["simclr"], measure="acc")
    (finding,) = check_claim(claim, rows_of([50, 51, 52], [40, 41, 42]))
    assert finding.claim == "replay helps (ACC)"


def test_a_floor_can_be_what_is_beaten() -> None:
    claim = Claim(says="", better="er", than=["floor: pca (bank)"])
    (finding,) = check_claim(claim, rows_of([50, 51, 52], []))
    assert finding.verdict == "confirmed"


def test_a_value_of_the_paper_is_confirmed_when_it_is_within_the_interval_of_our_mean() -> None:
    values = [31.0, 32.0, 33.5]
    records = [record("scale", i, knn, dataset="cifar10") for i, knn in enumerate(values)]
    (finding,) = check_levels(make_table(records).rows, "why")
    low, high = stats.ttest_1samp(values, 0).confidence_interval()
    assert low < 32.18 < high
    assert f"[{low:.2f}, {high:.2f}]" in finding.ours
    assert finding.verdict == "confirmed"
    lower = [record("scale", i, knn - 9, dataset="cifar10") for i, knn in enumerate(values)]
    assert check_levels(make_table(lower).rows)[0].verdict == "refuted"
    assert check_levels(make_table(lower[:1]).rows)[0].verdict == "undecided"


def test_an_interval_that_holds_almost_any_value_leaves_the_papers_undecided() -> None:
    values = [26.0, 37.0]
    records = [record("scale", i, knn, dataset="cifar10") for i, knn in enumerate(values)]
    (finding,) = check_levels(make_table(records).rows)
    assert finding.verdict == "undecided"


def test_the_papers_difference_stands_beside_ours_where_it_has_both_values() -> None:
    records = [record(m, i, dataset="cifar10") for m in ("scale", "simclr") for i in range(2)]
    claim = Claim(says="", better="scale", than=["simclr"])
    (finding,) = check_claim(claim, make_table(records).rows)
    assert finding.paper == "+13.34"
    assert check_claim(BETTER, rows_of([50, 51], [40, 41]))[0].paper == ""


def test_records_of_known_code_decide_where_there_are_such() -> None:
    records = [record("er", i, knn) for i, knn in enumerate([50, 51, 52])]
    records += [record("simclr", i, knn) for i, knn in enumerate([40, 41.5, 42])]
    (finding,) = check_claim(BETTER, make_table(records).rows)
    assert (finding.verdict, finding.code_known) == ("confirmed", False)
    new = [record("er", i, knn, code=CODE) for i, knn in enumerate([30, 31.5, 32])]
    (finding,) = check_claim(BETTER, make_table([*records, *new]).rows)
    assert finding.verdict == "confirmed", "the new rows have nothing of known code beside them"
    new += [record("simclr", i, knn, code=CODE) for i, knn in enumerate([40, 41, 42])]
    (finding,) = check_claim(BETTER, make_table([*records, *new]).rows)
    assert (finding.verdict, finding.code_known) == ("refuted", True)


def test_a_claim_is_refuted_by_one_comparison_and_confirmed_by_all() -> None:
    yes, no, open_ = (
        check_claim(BETTER, rows_of(er, [40, 41.5, 42]))[0]
        for er in ([50, 51, 52], [30, 31, 32], [40, 45, 40])
    )
    assert [f.verdict for f in (yes, no, open_)] == ["confirmed", "refuted", "undecided"]
    assert overall([yes, yes]) == "confirmed"
    assert overall([yes, open_]) == "undecided"
    assert overall([yes, open_, no]) == "refuted"


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"says": "x", "better": "er"}, "needs 'than', 'at_least' or 'at_most'"),
        ({"says": "x", "better": "er", "at_least": "45"}, "at_least must be a number"),
        ({"says": "x", "better": "er", "than": "simclr"}, "than must be a list"),
        (
            {"says": "x", "better": "er", "than": ["a"], "wyh": "y"},
            "unknown entry 'wyh'; did you mean 'why'",
        ),
        (
            {"says": "x", "better": "er", "than": ["a"], "measure": "knnn"},
            "no measure 'knnn'; did you mean 'knn'",
        ),
    ],
)
def test_a_claim_that_cannot_be_read_is_named(given: dict, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read_table(given, Claim, "notes.toml")
