"""The static files in memory, so that no name from a request reaches the file system."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".LICENSE": "text/plain; charset=utf-8",
}


@dataclass(frozen=True)
class Asset:
    """A static file.

    Parameters
    ----------
    content
        Its bytes.
    kind
        Its media type.
    tag
        Changes when the content does.
    """

    content: bytes
    kind: str
    tag: str


@cache
def assets() -> dict[str, Asset]:
    """Return all static files by their name, for example ``live/app.js``.

    Examples
    --------
    >>> assets()["theme.css"].kind
    'text/css; charset=utf-8'
    """
    return dict(_walk(files("scale.web"), ""))


def _walk(folder: Traversable, before: str) -> Iterator[tuple[str, Asset]]:
    for entry in folder.iterdir():
        name = before + entry.name
        kind = TYPES.get("." + entry.name.rpartition(".")[2])
        if entry.is_dir():
            yield from _walk(entry, name + "/")
        elif kind is not None:
            content = entry.read_bytes()
            yield name, Asset(content, kind, hashlib.sha256(content).hexdigest()[:16])
