"""Tables from files: what is wrong is said in one plain line."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
import pytest

from scale._errors import InputError
from scale._schema import read_table, read_toml


class Row(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    weight: float = 1.0


class Notes(msgspec.Struct, forbid_unknown_fields=True):
    kind: Literal["table", "bars"] = "table"
    rows: list[Row] = []
    by_name: dict[str, Row] = {}
    base: dict[str, Any] = {}
    paper: dict[str, dict[str, float]] = {}
    seeds: int | None = None


def test_a_good_file_becomes_a_struct() -> None:
    found = read_toml("kind = 'bars'\n[[rows]]\nname = 'a'\nweight = 2", Notes, "notes")
    assert found == Notes(kind="bars", rows=[Row("a", 2.0)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kind = ", "notes is not valid TOML: "),
        ("kind = 'pie'", "notes: kind must be one of table, bars; got 'pie'"),
        ("kind = 3", "notes: kind must be text, got 3"),
        ("seeds = 'x'", "notes: seeds must be a whole number or none, got 'x'"),
        ("seeds = true", "notes: seeds must be a whole number or none, got True"),
        ("base = 3", "notes: base must be a table, got 3"),
        ("row = 3", "notes has an unknown entry 'row'; did you mean 'rows'? (known: kind, rows,"),
        ("[[rows]]\nweight = 1", "notes: rows[0] needs an entry 'name'"),
        ("[[rows]]\nname = 'a'\nsize = 1", "rows[0] has an unknown entry 'size' (known: name, we"),
        ("[by_name]\na = {name = 'a'}\nb = 3", "notes: by_name.b must be a table, got 3"),
        ("[by_name]\na = {name = 'a'}\nb = {}", "notes: by_name.b needs an entry 'name'"),
        ("[paper.x]\na = 1\n[paper.y]\nb = 'c'", "notes: paper.y.b must be a number, got 'c'"),
    ],
)
def test_a_mistake_is_named_with_its_place_and_what_is_allowed(text: str, expected: str) -> None:
    with pytest.raises(InputError) as raised:
        read_toml(text, Notes, "notes")
    assert expected in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_table_that_is_no_table_is_refused() -> None:
    with pytest.raises(InputError, match="notes must be a table, got 3"):
        read_table(3, Notes, "notes")  # type: ignore[arg-type]
