"""The command ``scale table``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tyro.conf import Positional

from scale._errors import InputError
from scale._output import tell
from scale.commands._terminal import put, table_console

if TYPE_CHECKING:
    from scale.report import ResultsTable


def table(
    sources: Positional[list[Path]],
    *,
    format: Literal["terminal", "markdown", "latex", "csv"] = "terminal",
    columns: list[str] | None = None,
    against: str | None = None,
    measure: str | None = None,
    markdown: bool = False,
    to: Path | None = None,
    methods: tuple[str, ...] = (),
    datasets: tuple[str, ...] = (),
    streams: tuple[str, ...] = (),
    floors: tuple[str, ...] | None = None,
    across_streams: bool = False,
) -> None:
    """Show finished runs, mean and standard deviation over seeds, with the floors beside them.

    Args:
        sources: Folders of finished runs, folders of benches, and files of records (.jsonl).
        format: terminal, markdown, latex (booktabs, a table for each stream) or csv (a line of
            unrounded numbers for each setting).
        columns: Columns to show, for example knn linear time code. By default Markdown and CSV
            have all measures, LaTeX five, and a terminal as many of these five as fit.
        against: A method, a variant or a row's full name. Adds the difference to that row, paired
            over common seeds, with its 95 % confidence interval.
        measure: Measure to compare. The default is the first column.
        markdown: Short for --format markdown.
        to: Also append the runs in the folders among the sources to this file of records.
        methods: Only these methods or variants.
        datasets: Only these datasets.
        streams: Only these streams.
        floors: Only these floors, for example pixels; with no name none, by default all.
        across_streams: A row for each name and a column for each stream, of the first column;
            in Markdown.
    """
    from scale import report

    if not sources:
        raise InputError("nothing to show: name folders of runs or benches, or files of records")
    if markdown and format not in ("terminal", "markdown"):
        raise InputError(f"--markdown and --format {format} exclude each other; leave out one")
    if to is not None:
        tell(f"{report.keep_records(sources, to)} new records in {to}")
    form = "markdown" if markdown else format
    in_short = report.IN_SHORT if form in ("terminal", "latex") else ()
    records = report.choose(
        report.runs_of(report.read_sources(sources)),
        methods=methods,
        datasets=datasets,
        streams=streams,
    )
    results = report.make_table(
        records, columns or in_short, against=against, measure=measure, floors=floors
    )
    if across_streams:
        put(results.markdown_across_streams())
    elif form == "terminal":
        _print(results, fit=not columns)
    else:
        texts = {"markdown": results.markdown, "latex": results.latex, "csv": results.csv}
        put(texts[form]())


def _print(results: ResultsTable, *, fit: bool) -> None:
    """Print the tables, their notes, and the names of all columns."""
    from scale.report import COLUMNS

    console = table_console()
    for shown in results.terminal(console.width if fit else None):
        console.print(shown)
        console.print()
    for note in results.notes():
        console.print(note, highlight=False)
    if fit:
        more = f"more with --columns: {' '.join(COLUMNS)}"
        console.print(more, highlight=False)
