"""Images that a user names by number or by path."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scale._errors import InputError
from scale._files import check_file
from scale._names import shown
from scale.data.pixels import BadImageError, read_pixels, to_rgb
from scale.live.embeddings import check_ids
from scale.live.store import Store

LARGEST = 2**63 - 1


def resolve(store: Store, images: Iterable[str]) -> list[int]:
    """Return the numbers of stored images, each once.

    Parameters
    ----------
    store
        The store.
    images
        Numbers, or paths of files that came from a folder. A file that gave several images, crops
        for example, stands for all of them.
    """
    found: list[int] = []
    for text in images:
        numbers = [_number(text)] if _is_number(text) else _of_path(store, text)
        found += check_ids(store, numbers)
    return list(dict.fromkeys(found))


def query_image(store: Store, text: str) -> int | npt.NDArray[np.uint8]:
    """Return the number of a stored image, or the pixels of any image file, (h, w, 3)."""
    if _is_number(text):
        return check_ids(store, [_number(text)])[0]
    if not os.path.lexists(text):
        there = _of_path(store, text)  # a file that is gone may be stored
        return check_ids(store, there)[0]
    try:
        return to_rgb(read_pixels(check_file(Path(text))))
    except BadImageError as error:
        raise InputError(f"cannot read {text}: {error}; give an image") from error


def _is_number(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").isdecimal()


def _number(text: str) -> int:
    number = int(text) if len(text) < 20 else LARGEST
    return min(max(number, -LARGEST), LARGEST)


def _of_path(store: Store, text: str) -> list[int]:
    # Names of files may hold any bytes; the store has them as text.
    names = [_as_text(name) for name in (text, os.path.abspath(text), os.path.realpath(text))]
    for name in dict.fromkeys(names):
        rows = store.query("SELECT id FROM images WHERE path = ? ORDER BY id", name)
        if rows:
            return [row[0] for row in rows]
    raise InputError(
        f"no image in {store.folder} came from {shown(text)}; give a number, or the path of a file "
        "that was watched (scale names lists them)"
    )


def _as_text(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "backslashreplace")
