"""A rich console on which names are shown as they are and control characters as escapes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO, cast

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from scale._output import News
from scale._text import printable


class Screen(Console):
    """A console without markup; only rich's own control codes reach the terminal.

    Parameters
    ----------
    file
        Where to write; the default is standard output.
    width
        Number of columns; the default is that of the terminal.
    """

    def __init__(self, file: TextIO | News | None = None, width: int | None = None) -> None:
        super().__init__(file=cast(TextIO | None, file), width=width, markup=False, emoji=False)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            text, style, control = segment
            safe = text if control else printable(text, keep="\n\t")
            yield segment if safe == text else Segment(safe, style)

    def say(self, text: str) -> None:
        """Print one line of plain text, whatever it holds, without wrapping it."""
        self.print(printable(text), highlight=False, soft_wrap=True)
