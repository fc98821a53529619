"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def markdown(titles: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown.

    Examples
    --------
    >>> print(markdown(["features", "kNN"], [["er", "50.00"]]), end="")
    | features | kNN |
    | --- | --- |
    | er | 50.00 |
    """
    table = [titles, ["---"] * len(titles), *lines]
    escaped = ([cell.replace("|", "\\|") for cell in line] for line in table)
    return "".join("| " + " | ".join(line) + " |\n" for line in escaped)
