"""The names of embedded image files, one line for each row of the embeddings."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from scale._errors import DamagedFileError
from scale._files import as_path, read_text, write_atomic
from scale._text import printable


def read_names(path: Path) -> list[str]:
    """Return the file of each row from a ``.files.txt`` that `embed_images` wrote."""
    lines = read_text(as_path("path", path)).split("\n")[:-1]
    try:
        return [json.loads(line) if line.startswith('"') else line for line in lines]
    except ValueError as error:
        raise DamagedFileError(f"{path} is damaged ({error}); embed the images again") from error


def write_names(files: Iterable[Path], skipped: tuple[str, ...], out: Path) -> Path:
    """Write the names beside the embeddings `out`, without those that were skipped."""
    left_out = set(skipped)
    lines = [_name_line(str(file)) for file in files if str(file) not in left_out]
    path = out.with_suffix(".files.txt")
    write_atomic(path, "".join(lines))
    return path


def _name_line(name: str) -> str:
    r"""Return a line for a name; a name that does not fit on a line becomes a JSON string.

    Examples
    --------
    >>> _name_line("cats/1.png"), _name_line("a\nb.png")
    ('cats/1.png\n', '"a\\nb.png"\n')
    """
    plain = printable(name) == name and not name.startswith('"')
    return f"{name}\n" if plain else f"{json.dumps(name)}\n"
