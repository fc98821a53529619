"""The command ``scale names``."""

from __future__ import annotations

import json as json_module
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from tyro.conf import Positional, arg

from scale.commands._embedding import embedding
from scale.commands._terminal import put, say, table_console

if TYPE_CHECKING:
    from scale.live.names import Named, NameSummary


def names(
    folder: Positional[Annotated[Path, arg(metavar="DIR")]],
    *,
    confident: float = 0.5,
    export: Literal["csv", "folders", "coco", "imagefolder"] | None = None,
    to: Path | None = None,
    summary: bool = False,
    json: bool = False,
) -> None:
    """List every stored image of a live learner with its name and how sure it is.

    Args:
        folder: Folder of the live learner; it may be running.
        confident: Confidence from which an image gets the name of similar ones; below it is
            unknown.
        export: Write the named images as a table (csv), as a folder for each name (folders), as
            COCO, or as a Hugging Face imagefolder. Unknown images are only in the table.
        to: Where to export: a file for csv, a new folder for the others.
        summary: List the names instead, each with how often its other images agree.
        json: Print JSON.
    """
    from scale._errors import InputError
    from scale.live import Knowledge
    from scale.live.export import export_names

    if (export is None) != (to is None):
        raise InputError("an export needs both: --export FORMAT --to PATH")
    with Knowledge.open(
        folder, lambda text: say(f"warning: {text}"), confident=confident
    ) as knowledge:
        with embedding() as progress:
            rows = [] if summary else knowledge.named(None, progress)
        if export is not None and to is not None:
            written = export_names(knowledge.store, rows, export, to)
            say(f"{written} images are in {to}")
            return
        found = knowledge.names() if summary else []
    if json:
        put(json_module.dumps([asdict(one) for one in (found if summary else rows)], indent=1))
        put("\n")
    elif summary:
        _print_summaries(found)
    else:
        _print_rows(rows)


def _print_rows(rows: list[Named]) -> None:
    from rich.table import Table

    table = Table("image", "name", "confidence", "decided by", "path")
    for row in rows:
        sure = "given" if row.given else f"{row.confidence:.2f}"
        why = ", ".join(map(str, row.decided_by))
        table.add_row(str(row.id), row.name, sure, why, row.path or "")
    table_console().print(table)


def _print_summaries(found: list[NameSummary]) -> None:
    from rich.table import Table

    table = Table("name", "images named", "agree (leave-one-out)")
    for one in found:
        agree = "" if one.accuracy is None else f"{one.accuracy:.0%}"
        table.add_row(one.name, str(one.count), agree)
    table_console().print(table)
