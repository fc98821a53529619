"""Tables of finished runs: mean and standard deviation over seeds, floors beside the learners."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from scale._errors import InputError
from scale.bench import Record
from scale.report import formats
from scale.report.numbers import difference_lines, number_lines
from scale.report.paired import Versus, differences_against
from scale.report.rows import Row, digits_of, make_rows
from scale.report.sources import is_of_run

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
    "least": "lowest kNN",
    "forgetting": "forgetting",
    "forgetting_seen": "forgetting once seen",
    "drop": "drop",
    "time": "wall min",
    "memory": "peak MB",
    "paper": "paper",
}
"""What can be shown of a row, by the name that `--columns` takes."""
IN_SHORT = ("knn", "acc", "time", "memory", "paper")
"""What a terminal and LaTeX show when not asked for more."""
LESS_NEEDED = ("time", "memory", "acc", "paper")
"""What a terminal that is too narrow leaves out, in this order."""
VERSUS = "versus"
"""The column of differences; it stands behind the measure that is compared."""


@dataclass(frozen=True)
class ResultsTable:
    """Rows and what is shown of them."""

    rows: list[Row]
    columns: list[str]
    cpu_time: bool
    """Whether time is that of the CPU, which old records lack."""
    versus: Versus | None = None

    def title(self, column: str) -> str:
        """Return a column's title, which says whose time it is, or who is compared with."""
        if column == VERSUS and self.versus is not None:
            return f"vs {self.versus.against}"
        return "CPU min" if column == "time" and self.cpu_time else COLUMNS[column]

    def cell(self, i: int, column: str) -> str:
        """Return what stands in a column of row `i`."""
        if column != VERSUS or self.versus is None:
            return self.rows[i].cell(column)
        difference = self.versus.differences[i]
        if difference is None:
            return ""
        text = difference.text(digits_of(self.versus.measure))
        all_seeds = difference.pairs == self.rows[i].seeds
        return text if all_seeds else f"{text} (n={difference.pairs})"

    def markdown(self) -> str:
        """Return the table in Markdown."""
        lines = []
        for i, row in enumerate(self.rows):
            cells = [self.cell(i, column) for column in self.columns]
            lines.append([row.dataset, row.stream, row.features, str(row.seeds), *cells])
        titles = ["dataset", "stream", "features", "seeds", *map(self.title, self.columns)]
        return formats.markdown(titles, lines)

    def latex(self) -> str:
        """Return a table for each dataset and stream in LaTeX, for the package booktabs."""
        tables = []
        for place, of_rows in self._places():
            columns = self._filled(of_rows)
            tables.append(formats.latex(place, *self._grid(of_rows, columns)))
        return "\n".join(tables)

    def csv(self) -> str:
        """Return a line of numbers for each row: mean, standard deviation and n of each column."""
        names = [name for name in self.columns if name != VERSUS]
        lines = number_lines(self.rows, names, self.cpu_time)
        if self.versus is not None:
            extra = difference_lines(self.versus)
            lines = [[*line, *more] for line, more in zip(lines, extra, strict=True)]
        return formats.csv_text(lines)

    def terminal(self, width: int | None = None) -> list[Table]:
        """Return a table for each dataset and stream, with the columns that are filled there.

        Parameters
        ----------
        width
            Leave out columns, the less needed first, until the numbers fit into it.
        """
        return [self._of_place(place, of_rows, width) for place, of_rows in self._places()]

    def _of_place(self, place: str, of_rows: list[int], width: int | None) -> Table:
        columns = self._filled(of_rows)
        fits = width is not None
        if width is not None:
            for column in LESS_NEEDED:
                if formats.least_width(*self._grid(of_rows, columns)) > width:
                    columns = [name for name in columns if name != column]
            fits = formats.least_width(*self._grid(of_rows, columns)) <= width
        dim = [self.rows[i].is_floor for i in of_rows]
        return formats.on_terminal(place, *self._grid(of_rows, columns), dim, wrap_numbers=not fits)

    def _places(self) -> list[tuple[str, list[int]]]:
        """Return each dataset and stream with the numbers of its rows."""

        def place(i: int) -> tuple[str, str]:
            return self.rows[i].dataset, self.rows[i].stream

        return [(" ".join(key), list(rows)) for key, rows in groupby(range(len(self.rows)), place)]

    def _filled(self, of_rows: list[int]) -> list[str]:
        return [column for column in self.columns if any(self.cell(i, column) for i in of_rows)]

    def _grid(self, of_rows: list[int], columns: list[str]) -> tuple[list[str], list[list[str]]]:
        """Return the titles and cells of some rows on one dataset and stream."""
        lines = [
            [self.rows[i].features, str(self.rows[i].seeds), *(self.cell(i, c) for c in columns)]
            for i in of_rows
        ]
        return ["features", "seeds", *map(self.title, columns)], lines


def make_table(
    records: Sequence[Record],
    columns: Sequence[str] = (),
    *,
    against: str | None = None,
    measure: str | None = None,
) -> ResultsTable:
    """Return a table of records: a row for each setting and for each floor beside it.

    Parameters
    ----------
    records
        What finished runs left; lines of other kinds among them are passed over.
    columns
        Names from `COLUMNS`; when none is given, all that have a value.
    against
        A row's name, its method or its variant: the others' differences to it are shown, paired
        over seeds.
    measure
        The column that is compared; the first of the `columns`, or kNN, when not given.
    """
    for name in columns:
        _check(name, "column", COLUMNS)
    comparable = [name for name in COLUMNS if name != "paper"]
    if measure is not None:
        _check(measure, "measure", comparable)
    if measure is not None and against is None:
        raise InputError("a measure is compared with a row; name it too: --against NAME")
    of_runs = [record for record in records if is_of_run(record)]
    if not of_runs:
        raise InputError(
            f"there are no records of runs in what was given, {len(records)} line(s) in all; "
            "scale run and scale bench make them"
        )
    cpu_time = all("cpu_seconds" in record["summary"]["timing"] for record in of_runs)
    rows = make_rows(of_runs, cpu_time)
    shown = list(columns) or [name for name in COLUMNS if any(row.cell(name) for row in rows)]
    if against is None:
        return ResultsTable(rows, shown, cpu_time)
    compared = measure or next((name for name in shown if name in comparable), "knn")
    if compared not in shown:
        shown.insert(0, compared)
    shown.insert(shown.index(compared) + 1, VERSUS)
    differences = differences_against(rows, against, compared)
    return ResultsTable(rows, shown, cpu_time, Versus(against, compared, differences))


def _check(name: str, what: str, known: Sequence[str] | dict[str, str]) -> None:
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise InputError(f"there is no {what} {name!r}{hint} (known: {', '.join(known)})")
