"""Print a picture of a terminal as SVG, from what the terminal shows.

Run it as ``tmux capture-pane -pe | python docs/make_terminal.py > docs/terminal.svg``.
"""

from __future__ import annotations

import io
import re
import sys

from rich.console import Console
from rich.text import Text

FONTS = re.compile(r"\s*@font-face \{[^}]*\}")  # they would be loaded from the network


def picture(captured: str, title: str = "scale run") -> str:
    """Return the SVG of a screen with colour codes."""
    text = Text.from_ansi(captured.rstrip("\n"))
    width = max(line.cell_len for line in text.split("\n"))
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    console.print(text, no_wrap=True, crop=False)
    drawn = FONTS.sub("", console.export_svg(title=title, unique_id="terminal"))
    return "\n".join(line.rstrip() for line in drawn.strip().splitlines())


if __name__ == "__main__":
    print(picture(sys.stdin.read()))
