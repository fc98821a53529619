"""A list of files on disk: millions of names, of which only a few are in memory."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, overload

from scale._errors import DamagedFileError
from scale._files import atomic_path

STRIDE = 512  # files between two known places in the list


class Changes(NamedTuple):
    """How a folder differs from the list of its files."""

    new: int
    """Files that the list does not have."""
    changed: int
    """Files of the list that are gone, or have another size or modification time."""


class FileList(Sequence[Path]):
    """Files with their sizes and modification times, in the order of `write`.

    Parameters
    ----------
    path
        The list, one JSON line for each file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: list[int] = []
        self._count = 0
        digest, at = hashlib.sha256(), 0
        with open(path, "rb") as lines:
            for line in lines:
                if self._count % STRIDE == 0:
                    self._places.append(at)
                self._count, at = self._count + 1, at + len(line)
                digest.update(line)
        self.digest = digest.hexdigest()

    @classmethod
    def write(cls, files: Iterable[Path], path: Path) -> FileList:
        """List `files` in the file `path`, one after the other."""
        with atomic_path(path) as part, open(part, "wb") as lines:
            lines.writelines(_line(file) for file in files)
        return cls(path)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Path: ...
    @overload
    def __getitem__(self, index: slice) -> list[Path]: ...
    def __getitem__(self, index: int | slice) -> Path | list[Path]:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            return list(islice(self._from(start), 0, max(stop - start, 0), step))
        return self[range(len(self))[index] :][0]

    def __iter__(self) -> Iterator[Path]:
        return self._from(0)

    def changes(self, files: Iterable[Path]) -> Changes:
        """Compare with `files`, which are in the same order."""
        new = changed = 0
        now = iter(files)
        with open(self.path, "rb") as lines:
            then = next(lines, None)
            one = next(now, None)
            while then is not None or one is not None:
                listed = None if then is None else _path(then, self.path)
                if listed is None or (one is not None and one.parts < listed.parts):
                    new, one = new + 1, next(now, None)
                elif one is None or listed.parts < one.parts:
                    changed, then = changed + 1, next(lines, None)
                else:
                    changed += _line(one) != then
                    then, one = next(lines, None), next(now, None)
        return Changes(new, changed)

    def _from(self, start: int) -> Iterator[Path]:
        if start >= len(self):
            return
        with open(self.path, "rb") as lines:
            lines.seek(self._places[start // STRIDE])
            for line in islice(lines, start % STRIDE, None):
                yield _path(line, self.path)


def _line(file: Path) -> bytes:
    try:
        state = file.stat()
        about = [state.st_size, state.st_mtime_ns]
    except OSError:  # a broken link; the decoder reports it by name
        about = [-1, -1]
    return json.dumps([os.fspath(file), *about]).encode() + b"\n"


def _path(line: bytes, where: Path) -> Path:
    try:
        return Path(json.loads(line)[0])
    except (ValueError, TypeError, IndexError, KeyError) as error:
        raise DamagedFileError(f"{where} is damaged; begin again with --restart") from error
