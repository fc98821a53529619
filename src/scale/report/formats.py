"""Tables as Markdown, LaTeX and CSV, and for a terminal."""

from __future__ import annotations

import csv
import io
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table

Cells = Sequence[str]
BETWEEN = 3
"""Characters between two columns on a terminal."""
NAME_WIDTH = 24
"""A longer name is broken before a column is left out."""
TITLE_WIDTH = 10
"""A longer title is broken above narrower cells."""
LATEX = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # after the end of a line, LaTeX would read it as an option
    "±": r"$\pm$",
}


def latex(caption: str, titles: Cells, lines: Sequence[Cells]) -> str:
    """Return a table in LaTeX with booktabs; the first cell of a line is a name.

    Examples
    --------
    >>> lines = [["er, steps_per_batch 5", "50.00 ± 1.00"]]
    >>> print(latex("mnist seq", ["features", "kNN"], lines), end="")
    \\begin{table}
    \\centering
    \\caption{mnist seq}
    \\begin{tabular}{lr}
    \\toprule
    features & kNN \\\\
    \\midrule
    er, steps\\_per\\_batch 5 & $50.00 \\pm 1.00$ \\\\
    \\bottomrule
    \\end{tabular}
    \\end{table}
    """
    body = [[latex_text(name), *map(_latex_number, numbers)] for name, *numbers in lines]
    head, *rows = (" & ".join(line) + r" \\" for line in [[*map(latex_text, titles)], *body])
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{latex_text(caption)}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(titles) - 1)}}}",
            *(r"\toprule", head, r"\midrule", *rows, r"\bottomrule"),
            *(r"\end{tabular}", r"\end{table}", ""),
        ]
    )


def latex_text(text: str) -> str:
    """Return text with LaTeX's special characters escaped.

    Examples
    --------
    >>> print(latex_text("50 % of R&D_1"))
    50 \\% of R\\&D\\_1
    """
    return "".join(LATEX.get(character, character) for character in " ".join(text.split()))


def csv_text(lines: Sequence[Sequence[object]]) -> str:
    """Return lines as CSV (RFC 4180), with unrounded numbers."""
    text = io.StringIO()
    csv.writer(text).writerows(lines)
    return text.getvalue()


def on_terminal(
    title: str, titles: Cells, lines: Sequence[Cells], dim: Sequence[bool], wrap_numbers: bool
) -> Table:
    """Return a table for a terminal.

    Parameters
    ----------
    title
        Title of the table.
    titles
        Titles of the columns.
    lines
        Cells of each line: a name, then numbers.
    dim
        Whether each line is dimmed.
    wrap_numbers
        Whether numbers may be broken if the terminal is too narrow.
    """
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(title, style="bold"),
        title_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
    )
    table.add_column(titles[0], overflow="fold")
    for name in _narrow(titles, lines)[1:]:
        table.add_column(Text(name), justify="right", no_wrap=not wrap_numbers, overflow="fold")
    for line, less in zip(lines, dim, strict=True):
        table.add_row(*map(Text, line), style="dim" if less else "")  # [paper] is no markup
    return table


def least_width(titles: Cells, lines: Sequence[Cells]) -> int:
    """Return the least width of a table on a terminal; long names may be broken."""
    names, *numbers = zip(_narrow(titles, lines), *lines, strict=True)
    words = (len(word) for name in names for word in name.split())
    name_width = max([min(NAME_WIDTH, max(map(len, names))), *words])
    return name_width + sum(BETWEEN + max(map(_width, column)) for column in numbers)


def _narrow(titles: Cells, lines: Sequence[Cells]) -> list[str]:
    """Return titles with line breaks if they are wider than their cells."""
    found = []
    for title, *cells in zip(titles, *lines, strict=True):
        longest = max(map(len, [*cells, *title.split()]))
        found.append("\n".join(textwrap.wrap(title, max(TITLE_WIDTH, longest))))
    return found


def _width(cell: str) -> int:
    return max(map(len, cell.split("\n")))


def _latex_number(cell: str) -> str:
    if re.fullmatch(r"[-+0-9.,±\[\]() n=]+", cell) is None:
        return latex_text(cell)
    return f"${cell.replace('±', chr(92) + 'pm').replace(' [', ' ~[')}$"
