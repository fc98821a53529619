"""Tables of finished runs: mean and standard deviation over seeds, floors beside the learners."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from scale._errors import InputError
from scale._markdown import markdown
from scale._names import did_you_mean
from scale.bench import Record
from scale.evaluate import FLOORS, MEASURES
from scale.report import formats
from scale.report.groups import (
    FLOOR,
    Group,
    common_settings,
    floors_of,
    make_groups,
    short_code,
    uses_cpu_time,
)
from scale.report.names import with_settings
from scale.report.paired import TWO_SEEDS, Versus, differences_against
from scale.report.records import runs_of

if TYPE_CHECKING:
    from rich.table import Table

COLUMNS = (*MEASURES, "paper", "code")
"""Names of columns for `--columns`."""
IN_SHORT = ("knn", "acc", "time", "memory", "paper")
"""Default columns of a terminal and of LaTeX."""
LESS_NEEDED = ("time", "memory", "acc", "paper")
"""Columns that a narrow terminal leaves out, in this order."""
VERSUS = "versus"
"""The column of differences, after the compared measure."""
UNKNOWN_CODE, OLD_SETTINGS = "†", "‡"
DIFFERENCE = (
    *("against", "against_measure", "difference", "difference_low", "difference_high"),
    "difference_pairs",
)


@dataclass(frozen=True)
class ResultsTable:
    """The rows and columns of a table."""

    rows: list[Group]
    columns: list[str]
    cpu_time: bool
    """Whether `time` is CPU time; otherwise it is wall-clock time."""
    versus: Versus | None = None

    def title(self, column: str) -> str:
        """Return a column's title."""
        if column == VERSUS and self.versus is not None:
            return f"vs {self.versus.against}"
        if column == "time":
            return "CPU min" if self.cpu_time else "wall min"
        if column == "memory":
            return "peak MB"
        return MEASURES[column].title if column in MEASURES else column

    def cell(self, i: int, column: str) -> str:
        """Return the text in a column of row `i`."""
        row = self.rows[i]
        if column == "paper":
            return "" if row.paper is None else f"{row.paper:.2f}"
        if column == "code":
            return short_code(row)
        if column != VERSUS or self.versus is None:
            return row.cell(column)
        difference = self.versus.differences[i]
        if difference is None:
            return ""
        text = difference.text(MEASURES[self.versus.measure].digits)
        return text if difference.pairs == row.seeds else f"{text} (n={difference.pairs})"

    def name(self, i: int) -> str:
        """Return a row's name, with marks if it lacks a record that other rows have."""
        row, marks = self.rows[i], ""
        if not row.code and row.name == row.base and any(other.code for other in self.rows):
            marks += UNKNOWN_CODE
        if row.missing and len({other.missing for other in self._learners()}) > 1:
            marks += OLD_SETTINGS
        return f"{row.name} {marks}" if marks else row.name

    def notes(self) -> list[str]:
        """Return the shared settings, and the meaning of the marks."""
        notes, learners = [], self._learners()
        common = common_settings(learners)
        if common:
            notes.append(f"Shared settings: {with_settings('', common)[2:]}.")
        if not any(row.code for row in self.rows):
            notes.append("Code not recorded for any row.")
        elif not all(row.code for row in self.rows):
            notes.append(f"{UNKNOWN_CODE} Code not recorded.")
        missing = dict.fromkeys(name for row in learners for name in row.missing)
        if missing:
            mark = f"{OLD_SETTINGS} " if len({row.missing for row in learners}) > 1 else ""
            notes.append(f"{mark}Settings not recorded: {', '.join(missing)}.")
        if self.versus is not None and any(d and d.pairs == 2 for d in self.versus.differences):
            notes.append(TWO_SEEDS)
        return notes

    def markdown(self) -> str:
        """Return the table in Markdown, followed by the notes."""
        lines = []
        for i, row in enumerate(self.rows):
            cells = [self.cell(i, column) for column in self.columns]
            lines.append([row.dataset, row.stream, self.name(i), str(row.seeds), *cells])
        titles = ["dataset", "stream", "features", "seeds", *map(self.title, self.columns)]
        below = "".join(f"\n{note}\n" for note in [" ".join(self.notes())] if note)
        return markdown(titles, lines) + below

    def markdown_across_streams(self) -> str:
        """Return the first column in Markdown: a row for each name, a column for each stream."""
        column = self.columns[0]
        streams = list(dict.fromkeys(row.stream for row in self.rows))
        cells: dict[tuple[str, str, int], dict[str, str]] = {}
        for i, row in enumerate(self.rows):
            line = cells.setdefault((row.dataset, self.name(i), row.seeds), {})
            line[row.stream] = self.cell(i, column)
        lines = [
            [dataset, name, str(seeds), *(line.get(stream, "") for stream in streams)]
            for (dataset, name, seeds), line in cells.items()
        ]
        titles = [f"{self.title(column)}, {stream}" for stream in streams]
        below = "".join(f"\n{note}\n" for note in [" ".join(self.notes())] if note)
        return markdown(["dataset", "features", "seeds", *titles], lines) + below

    def latex(self) -> str:
        """Return a table for each dataset and stream in LaTeX, for the package booktabs."""
        tables = []
        for place, of_rows in self._places():
            columns = self._filled(of_rows)
            tables.append(formats.latex(place, *self._grid(of_rows, columns)))
        return "\n".join([*tables, *(f"% {note}\n" for note in self.notes())])

    def csv(self) -> str:
        """Return a CSV line for each row: mean, standard deviation and n of each column."""
        names = [name for name in self.columns if name not in (VERSUS, "code")]
        lines = [self._titles(names), *(self._numbers(row, names) for row in self.rows)]
        if self.versus is not None:
            extra = _difference_lines(self.versus)
            lines = [[*line, *more] for line, more in zip(lines, extra, strict=True)]
        return formats.csv_text(lines)

    def terminal(self, width: int | None = None) -> list[Table]:
        """Return a table for each dataset and stream, with the columns that are filled there.

        Parameters
        ----------
        width
            Leave out columns, in the order of `LESS_NEEDED`, until the numbers fit.
        """
        return [self._of_place(place, of_rows, width) for place, of_rows in self._places()]

    def _learners(self) -> list[Group]:
        return [row for row in self.rows if not row.is_floor]

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
        places = groupby(range(len(self.rows)), lambda i: self.rows[i].place)
        return [(" ".join(place), list(of_rows)) for place, of_rows in places]

    def _filled(self, of_rows: list[int]) -> list[str]:
        return [column for column in self.columns if any(self.cell(i, column) for i in of_rows)]

    def _grid(self, of_rows: list[int], columns: list[str]) -> tuple[list[str], list[list[str]]]:
        """Return the titles and cells of some rows on one dataset and stream."""
        lines = [
            [self.name(i), str(self.rows[i].seeds), *(self.cell(i, column) for column in columns)]
            for i in of_rows
        ]
        return ["features", "seeds", *map(self.title, columns)], lines

    def _titles(self, names: Sequence[str]) -> list[Any]:
        titles: list[Any] = ["dataset", "stream", "features", "floor", "seeds", "code", "missing"]
        units = {"time": "cpu_minutes" if self.cpu_time else "wall_minutes", "memory": "peak_mb"}
        for name in names:
            own = [f"{units.get(name, name)}_{what}" for what in ("mean", "sd", "n")]
            titles += ["paper_knn"] if name == "paper" else own
        return titles

    def _numbers(self, row: Group, names: Sequence[str]) -> list[Any]:
        floor, code = "yes" if row.is_floor else "no", row.code.get("digest", "")
        line = [row.dataset, row.stream, row.name, floor, row.seeds, code, " ".join(row.missing)]
        for name in names:
            line += [row.paper] if name == "paper" else _spread(row.values(name))
        return line


def make_table(
    records: Sequence[Record],
    columns: Sequence[str] = (),
    *,
    against: str | None = None,
    measure: str | None = None,
    floors: Sequence[str] | None = None,
) -> ResultsTable:
    """Return a table of records: a row for each setting and for each floor beside it.

    Within a dataset and stream, rows are sorted from the best kNN to the worst.

    Parameters
    ----------
    records
        Records of finished runs; other lines are ignored.
    columns
        Names from `COLUMNS`. The default is all columns with a value, except the code.
    against
        A row's name, method or variant. Adds the difference of each row to it, paired over seeds.
    measure
        The column that is compared. The default is the first of the `columns`, or kNN.
    floors
        Floors to show, by their names in `FLOORS`; all by default.
    """
    for name in columns:
        _check(name, "column", COLUMNS)
    if measure is not None:
        _check(measure, "measure", MEASURES)
    if measure is not None and against is None:
        raise InputError("a measure is compared with a row; add --against NAME")
    runs = runs_of(records)
    groups = make_groups(runs)
    beside = floors_of(groups)
    if floors is not None:
        wanted = _floor_names(floors)
        beside = [floor for floor in beside if floor.name in wanted]
    rows = sorted([*groups, *beside], key=lambda row: (*row.place, -row.mean("knn")))
    plain = ResultsTable(rows, list(COLUMNS[:-1]), uses_cpu_time(runs))
    shown = list(columns) or plain._filled(list(range(len(rows))))
    if against is None:
        return ResultsTable(rows, shown, plain.cpu_time)
    compared = measure or next((name for name in shown if name in MEASURES), "knn")
    if compared not in shown:
        shown.insert(0, compared)
    shown.insert(shown.index(compared) + 1, VERSUS)
    differences = differences_against(rows, against, compared)
    return ResultsTable(rows, shown, plain.cpu_time, Versus(against, compared, differences))


def _floor_names(floors: Sequence[str]) -> set[str]:
    for name in floors:
        _check(name, "floor", FLOORS)
    return {FLOOR + FLOORS[name] for name in floors}


def _difference_lines(versus: Versus) -> list[list[Any]]:
    """Return a line of titles, and a line of differences for each row."""
    lines: list[list[Any]] = [list(DIFFERENCE)]
    for found in versus.differences:
        numbers: list[Any] = [None, None, None, 0]
        if found is not None:
            numbers = [found.mean, *(found.interval or (None, None)), found.pairs]
        lines.append([versus.against, versus.measure, *numbers])
    return lines


def _spread(values: list[float]) -> list[Any]:
    """Return mean, standard deviation and n."""
    mean = statistics.mean(values) if values else None
    sd = statistics.stdev(values) if len(values) > 1 else None
    return [mean, sd, len(values)]


def _check(name: str, what: str, known: Iterable[str]) -> None:
    if name not in known:
        hint = did_you_mean(name, known)
        raise InputError(f"there is no {what} {name!r}{hint} (known: {', '.join(known)})")
