"""The command ``scale report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg

from scale.commands._terminal import say


def report(
    runs: Positional[Annotated[list[Path], arg(metavar="RUN...")]], *, out: Path | None = None
) -> None:
    """Write one self-contained HTML page about a run, or about several runs compared.

    Args:
        runs: Folders of runs, finished or not, of benches, or with runs in them. Several runs are
            compared.
        out: The file to write. The default is report.html in the first folder.
    """
    from scale._errors import InputError
    from scale.report.page import write_page

    if not runs:
        raise InputError("nothing to show: name folders of runs or benches")
    path = write_page(runs, out)
    say(f"open {path} in a browser ({path.stat().st_size / 1e6:.1f} MB, needs no network)")
