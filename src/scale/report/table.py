"""Tables of finished runs: mean and standard deviation over seeds, floors beside the learners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from scale._errors import InputError
from scale.bench import Record
from scale.report.rows import Row, make_rows

if TYPE_CHECKING:
    from rich.table import Table

COLUMNS = {
    "knn": "kNN",
    "acc": "ACC",
    "kmeans_acc": "k-means ACC",
    "nmi": "NMI",
    "linear": "linear",
    "knn_full": "kNN, full bank",
    "average": "kNN over stream",
    "forgetting": "forgetting",
    "time": "wall min",
    "memory": "peak MB",
    "paper": "paper",
}
"""What can be shown of a row, by the name that `--columns` takes."""
IN_SHORT = ("knn", "acc", "time", "memory", "paper")
"""What a terminal shows when not asked for more: that much fits into 80 columns."""


@dataclass(frozen=True)
class ResultsTable:
    """Rows and what is shown of them."""

    rows: list[Row]
    columns: list[str]
    cpu_time: bool
    """Whether time is that of the CPU, which old records lack."""

    def title(self, column: str) -> str:
        """Return a column's title, which says whose time it is."""
        return "CPU min" if column == "time" and self.cpu_time else COLUMNS[column]

    def markdown(self) -> str:
        """Return the table in Markdown."""
        lines = [["dataset", "stream", "features", "seeds", *map(self.title, self.columns)]]
        lines.append(["---"] * len(lines[0]))
        for row in self.rows:
            cells = [row.cell(column) for column in self.columns]
            lines.append([row.dataset, row.stream, row.features, str(row.seeds), *cells])
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def terminal(self) -> list[Table]:
        """Return a table for each dataset and stream, with the columns that are filled there."""
        places = groupby(self.rows, lambda row: f"{row.dataset} {row.stream}")
        return [self._of_place(place, list(rows)) for place, rows in places]

    def _of_place(self, place: str, rows: list[Row]) -> Table:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        filled = [column for column in self.columns if any(row.cell(column) for row in rows)]
        table = Table(title=place, title_justify="left", box=SIMPLE_HEAD)
        table.add_column("features", overflow="fold")
        for title in ("seeds", *map(self.title, filled)):
            table.add_column(title, justify="right")
        for row in rows:
            cells = [row.features, str(row.seeds), *map(row.cell, filled)]
            style = "dim" if row.is_floor else ""
            table.add_row(*(Text(cell) for cell in cells), style=style)  # [paper] is no markup
        return table


def make_table(records: list[Record], columns: Sequence[str] = ()) -> ResultsTable:
    """Return a table of records: a row for each setting and for each floor beside it.

    Parameters
    ----------
    records
        What finished runs left.
    columns
        Names from `COLUMNS`; when none is given, all that have a value.
    """
    unknown = [name for name in columns if name not in COLUMNS]
    if unknown:
        raise InputError(f"there is no column {unknown[0]!r} (known: {', '.join(COLUMNS)})")
    records = [record for record in records if "run" in record]  # the others are timings
    if not records:
        raise InputError("there are no records of runs in what was given")
    cpu_time = all("cpu_seconds" in record["summary"]["timing"] for record in records)
    rows = make_rows(records, cpu_time)
    filled = [name for name in COLUMNS if any(name in row.values for row in rows)]
    return ResultsTable(rows, list(columns) or filled, cpu_time)
