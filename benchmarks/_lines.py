"""Rows of a benchmark that are kept in a file and printed from it again, as a table."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.__main__ import append
from benchmarks._measure import Row, machine
from scale._markdown import markdown

KEPT = ("benchmark", "machine")  # what a line has beside the cells of its row


def parser_of(name: str, doc: str | None) -> argparse.ArgumentParser:
    """Return a parser of ``python -m benchmarks.NAME`` that can keep rows and print kept ones."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=doc)
    parser.add_argument("--json", type=Path, metavar="FILE", help="append every row to this file")
    parser.add_argument("--table", type=Path, metavar="FILE", help="print the rows in this file")
    return parser


def keep(path: Path | None, name: str, rows: Iterable[Row]) -> list[Row]:
    """Return the rows; each is shown and, if there is a file, kept as soon as it is there."""
    found, where = list[Row](), machine()
    for row in rows:
        found.append(row)
        sys.stderr.write(" ".join(str(cell) for cell in row.values()) + "\n")
        if path is not None:
            append(path, [{"benchmark": name, **row, "machine": where}])
    return found


def kept(path: Path, name: str) -> list[Row]:
    """Return the rows of a benchmark in a file, in the order in which they were made."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    mine = [line for line in lines if line["benchmark"] == name]
    return [{key: cell for key, cell in line.items() if key not in KEPT} for line in mine]


def table(rows: Sequence[Row]) -> str:
    """Return rows as Markdown; the first one names the columns.

    Examples
    --------
    >>> print(table([{"stream": "street", "events": 1}]), end="")
    | stream | events |
    | --- | --- |
    | street | 1 |
    """
    head = list(rows[0]) if rows else []
    return markdown(head, [[str(row.get(key, "")) for key in head] for row in rows])
