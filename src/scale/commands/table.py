"""The command ``scale table``."""

from __future__ import annotations

import sys
from pathlib import Path

from tyro.conf import Positional

from scale.commands._terminal import say, table_console


def table(
    sources: Positional[list[Path]],
    *,
    columns: list[str] | None = None,
    markdown: bool = False,
    to: Path | None = None,
) -> None:
    """Show finished runs, mean and standard deviation over seeds, with the floors beside them.

    Args:
        sources: Folders of finished runs, and files of records (.jsonl).
        columns: What to show, for example knn linear time; a terminal shows five of them when not
            given, Markdown all.
        markdown: Print a Markdown table instead of one for the terminal.
        to: Also append the runs among the sources to this file of records.
    """
    from scale import report

    if to is not None:
        added = report.append_records([path for path in sources if path.is_dir()], to)
        sys.stderr.write(f"{added} new records in {to}\n")
    shown_columns = columns or (() if markdown else report.IN_SHORT)
    results = report.make_table(report.read_records(sources), shown_columns)
    if markdown:
        sys.stdout.write(results.markdown() + "\n")
        return
    for shown in results.terminal():
        table_console().print(shown)
    if not columns:
        say(f"more with --columns: {' '.join(report.COLUMNS)}")
