"""The same table as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import re
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scale._markdown import markdown
from scale.report import make_table
from scale.report.formats import csv_text, latex, latex_text

from .records import of_variant, record

KNN = [50.1, 52.7, 57.3]


def table(**options: str):  # type: ignore[no-untyped-def]
    records = [record("er", seed, knn) for seed, knn in enumerate(KNN)]
    return make_table([*records, record("simclr", knn=45.0)], **options)  # type: ignore[arg-type]


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_csv_has_numbers_in_full_and_marks_floors() -> None:
    lines = {line["features"]: line for line in read(table().csv())}
    assert float(lines["er"]["knn_mean"]) == statistics.mean(KNN)
    assert float(lines["er"]["knn_sd"]) == statistics.stdev(KNN)
    assert lines["er"]["knn_n"] == lines["er"]["seeds"] == "3"
    assert (lines["simclr"]["knn_sd"], lines["simclr"]["knn_n"]) == ("", "1")
    assert {name: line["floor"] for name, line in lines.items()} == {
        **dict.fromkeys(("er", "simclr"), "no"),
        **dict.fromkeys(("floor: pca (bank)", "floor: pixels", "floor: random"), "yes"),
    }
    assert float(lines["er"]["cpu_minutes_mean"]) == 1.0
    assert lines["floor: pca (bank)"]["peak_mb_n"] == "0"


def test_csv_has_the_difference_its_interval_and_the_pairs() -> None:
    lines = {line["features"]: line for line in read(table(against="er").csv())}
    pca = lines["floor: pca (bank)"]
    assert float(pca["difference"]) == pytest.approx(40.0 - statistics.mean(KNN))
    assert float(pca["difference_low"]) < float(pca["difference"]) < float(pca["difference_high"])
    assert (pca["against"], pca["against_measure"], pca["difference_pairs"]) == ("er", "knn", "3")
    assert lines["simclr"]["difference_low"] == "", "one pair"
    assert (lines["er"]["difference"], lines["er"]["difference_pairs"]) == ("", "0")


def test_csv_has_the_papers_value() -> None:
    (line,) = (
        x
        for x in read(make_table([record("scale", dataset="cifar10")]).csv())
        if x["features"] == "scale"
    )
    assert float(line["paper_knn"]) == 32.18


@given(
    st.lists(
        st.lists(
            st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
            min_size=2,
            max_size=2,
        ),
        min_size=1,
    )
)
def test_csv_gives_back_whatever_was_written(lines: list[list[str]]) -> None:
    text = csv_text(lines)
    assert list(csv.reader(io.StringIO(text, newline=""))) == lines
    assert text.endswith("\r\n")


@given(st.text("ab\\&%$#_{}~^<>|[]± \n"))
def test_latex_text_has_no_character_that_latex_would_act_on(text: str) -> None:
    escaped = latex_text(text)
    names = r"\\text(?:backslash|asciitilde|asciicircum|less|greater|bar)\{\}"
    rest = re.sub(rf"{names}|\\[&%$#_{{}}]|\{{\[\}}|\$\\pm\$", "", escaped)
    assert set(rest) <= set("ab] ")
    assert escaped.count(r"\%") == text.count("%")


def test_latex_is_a_table_with_as_many_cells_in_each_line_for_each_stream() -> None:
    records = [of_variant("50 % of [R&D]_1", stream=stream) for stream in ("iid", "seq")]
    text = make_table(records, ["knn", "acc"], against="random").latex()
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 2
    assert r"50 \% of {[}R\&D]\_1 & $1$ & $50.00$ & $+30.00$ & $25.00$ \\" in text
    for block in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end", text, re.S):
        lines = [line for line in block[1].splitlines() if line.endswith(r"\\")]
        assert len(lines) == 5, "titles, the learner and three floors"
        assert {len(re.findall(r"(?<!\\)&", line)) for line in lines} == {len(block[0]) - 1}


def test_latex_sets_numbers_as_mathematics() -> None:
    text = latex("t", ["a", "b", "c"], [["x", "1.00 ± 0.10", "-2.00 [-3.00, 1.00] (n=2)"]])
    assert r"x & $1.00 \pm 0.10$ & $-2.00 ~[-3.00, 1.00] (n=2)$ \\" in text


def test_markdown_keeps_its_columns_whatever_a_name_holds() -> None:
    *_, line = markdown(["features", "kNN"], [["a|b", "1"]]).splitlines()
    assert line == r"| a\|b | 1 |"
