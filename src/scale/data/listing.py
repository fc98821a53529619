"""The files below a folder, and a digest of their state."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from scale._errors import InputError

_CLUTTER = ("thumbs.db", "desktop.ini", "__macosx")


def visible(folder: Path) -> list[Path]:
    """Return the entries of a folder, sorted, without hidden files and files of file managers."""
    try:
        children = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"cannot read the folder {folder}: {error.strerror}") from error
    return [child for child in children if not is_clutter(child.name)]


def is_clutter(name: str) -> bool:
    """Return whether a file is hidden or one of file managers."""
    return name.startswith(".") or name.lower() in _CLUTTER


def walk(folder: Path, above: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """Yield all files below a folder, sorted. Follow links, except back to a folder above."""
    here = folder.resolve()
    if here in above:
        return
    for child in visible(folder):
        if child.is_dir():
            yield from walk(child, above | {here})
        else:
            yield child


def fingerprint(files: list[Path], root: Path) -> str:
    """Return a digest of the names, sizes and modification times of `files`."""
    digest = hashlib.sha256()
    for file in files:
        try:
            state = file.stat()
            about = [state.st_size, state.st_mtime_ns]
        except OSError:  # a broken link; the decoder reports it by name
            about = [-1, -1]
        digest.update(json.dumps([os.path.relpath(file, root), *about]).encode())
    return digest.hexdigest()
