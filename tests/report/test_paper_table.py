"""The paper's Table 1 in `scale methods`."""

from __future__ import annotations

from scale.methods import METHODS
from scale.report import all_facts, methods_markdown
from scale.report.paper_table import TABLE_1, paper_table


def test_every_system_of_the_paper_is_a_method_here_that_is_told_nothing() -> None:
    assert len(TABLE_1) == 11
    for row in TABLE_1:
        method = METHODS[row.method]
        assert not any(vars(method.knows).values()), row.system


def test_the_rows_are_those_of_the_paper() -> None:
    def systems(**told: bool) -> list[str]:
        return [
            row["system"]
            for row in paper_table()
            if all(row[name] is value for name, value in told.items())
        ]

    assert systems(single_pass=False) == ["VASE", "CURL", "L-VAEGAN"]
    assert systems(no_task_labels=False) == ["He et al.", "CCSL", "CaSSLe", "LUMP"]
    assert systems(no_class_labels=False) == ["Tiezzi et al.", "KIERA"]
    free = {"single_pass": True, "no_task_labels": True, "no_class_labels": True}
    assert systems(non_iid=True, **free) == ["STAM", "SCALE"]


def test_the_page_has_the_table_and_where_released_code_differs() -> None:
    page = methods_markdown(all_facts())
    assert "| L-VAEGAN | lvaegan | no | yes | yes | yes | training is told the task" in page
    assert "| KIERA | kiera | yes | yes | yes | no | labels change no weight" in page
