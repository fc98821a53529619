"""The command ``scale results``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tyro.conf import Positional

from scale.commands._terminal import say


def results(
    folder: Positional[Path] = Path("results"),
    *,
    out: Path | None = None,
    figures: Path = Path("docs/results"),
) -> None:
    """Write a page of all results: what was run, tables, figures, what agrees with the paper.

    Args:
        folder: With files of records, NAME.jsonl, and notes on them, NAME.toml.
        out: The Markdown file to write, for example RESULTS.md; printed, and no figure drawn, when
            not given.
        figures: Folder for the figures of the page.
    """
    from scale._files import write_atomic
    from scale.report import read_sections, results_page
    from scale.report.plots import draw_figure

    sections = read_sections(folder)
    beside = Path("." if out is None else out.parent)
    from_page = Path(os.path.relpath(figures, beside)).as_posix()
    text = results_page(
        sections, folder.as_posix(), (out or Path("RESULTS.md")).as_posix(), from_page
    )
    if out is None:
        sys.stdout.write(text)
        return
    for section in sections:
        if section.figure is not None:
            figures.mkdir(parents=True, exist_ok=True)
            records = folder / f"{section.name}.jsonl"
            draw_figure([records], figures / f"{section.name}.png", kind=section.figure)
    write_atomic(out, text)
    say(f"{len(sections)} sections in {out}, figures in {figures}")
