"""The command ``scale results``."""

from __future__ import annotations

import os
from pathlib import Path

from tyro.conf import Positional

from scale._output import tell
from scale.commands._terminal import put, say


def results(
    folder: Positional[Path] = Path("results"),
    *,
    out: Path | None = None,
    figures: Path = Path("docs/results"),
    archive: bool = False,
) -> None:
    """Write the page of all results, and a page with table, figure and CSV for each question.

    Args:
        folder: Folder of records, NAME.jsonl, and notes on them, NAME.toml. Replaced records are
            in its folder `archive`.
        out: The Markdown file to write, for example RESULTS.md. Without it the page is printed
            and nothing is written.
        figures: Folder for the pages of the questions, their CSV files and figures. The page on
            the reproduction, reproduction.md, goes to the folder that holds it.
        archive: First move records without code to the folder `archive`, when records of known
            code have the same settings and seed.
    """
    from scale import report
    from scale._files import write_atomic
    from scale.report.plots import draw_figure

    if archive:
        moved = report.archive_replaced(folder)
        tell(f"{moved} replaced records moved to {folder / 'archive'}")
    sections, replaced = report.read_sections(folder), report.read_archive(folder)
    beside = Path("." if out is None else out.parent)
    pages = Path(os.path.relpath(figures, beside)).as_posix()
    text = report.results_page(sections, replaced, pages)
    if out is None:
        put(text)
        return
    figures.mkdir(parents=True, exist_ok=True)
    for section in sections:
        write_atomic(figures / f"{section.name}.md", report.question_page(section))
        write_atomic(figures / f"{section.name}.csv", section.table.csv())
        if section.notes.figure is not None:
            records, drawn = folder / f"{section.name}.jsonl", figures / f"{section.name}.png"
            draw_figure([records], drawn, kind=section.notes.figure)
    write_atomic(figures / "archive.md", report.archive_page(replaced, folder.as_posix()))
    above = figures.parent
    page = report.reproduction_page(sections, figures.name, os.path.relpath(out, above))
    write_atomic(above / "reproduction.md", page)
    write_atomic(out, text)
    say(f"{len(sections)} questions in {out}, their pages in {figures}")
