"""Write the page of one run or of several."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scale._errors import InputError
from scale._files import as_path, write_atomic
from scale.report.page.bundle import bundle
from scale.report.page.compare import comparison
from scale.report.page.facts import Facts
from scale.report.records import run_folders

MOST_RUNS = 60  # with more, their curves are not looked at one by one
PICTURED = 4  # with more, maps and images of memory are on a run's own page only


def write_page(sources: Sequence[Path], out: Path | None = None) -> Path:
    """Write one HTML file about a run, or about several runs compared; return its path.

    Parameters
    ----------
    sources
        Folders of runs, finished or not, and of benches.
    out
        The file to write. The default is report.html in the first source.
    """
    folders = run_folders([as_path("a source", source) for source in sources])
    target = Path(sources[0]) / "report.html" if out is None else as_path("out", out)
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--out must end in .html, got {target}")
    found = [Facts(folder) for folder in folders]
    if len(found) == 1:
        title, facts = found[0].title, _page([found[0].collect()])
    else:
        title = f"{len(found)} runs compared"
        few, pictures = found[:MOST_RUNS], len(found) <= PICTURED
        facts = _page([one.collect(pictures=pictures) for one in few], comparison(folders))
        if len(found) > MOST_RUNS:
            facts["left"] = f"Only the first {MOST_RUNS} of {len(found)} runs have a page here."
    write_atomic(target, bundle(title, facts))
    return target


def _page(runs: list[dict[str, Any]], compared: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"runs": runs, "compared": compared}
