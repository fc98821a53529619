"""Bytes of files and folders, some of which may vanish meanwhile."""

from __future__ import annotations

import os
from pathlib import Path


def file_bytes(path: str | Path) -> int:
    """Return the size of a file; 0 if there is none."""
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def folder_bytes(folder: Path) -> int:
    """Return the size of all files below a folder."""
    return sum(
        file_bytes(os.path.join(here, name)) for here, _, names in os.walk(folder) for name in names
    )
