"""Decoded images on disk, one file per source, opened as a memory map.

An entry is the raw pixels, a JSON description, and a tail of fixed size: magic, length and SHA-256
of the description. One pass writes it, and a truncated file has no tail.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from scale._files import atomic_path
from scale._locks import wait_for
from scale.data.decode import Encoded, Skipped, decode
from scale.data.registry import LoadOptions

_MAGIC = b"SCALEDEC"
_TAIL = struct.Struct("<8sQ32s")
_FORMAT = 1


class CacheUnwritableError(Exception):
    """The cache cannot be written: no space or no permission."""


@dataclass(frozen=True)
class Entry:
    """The decoded images of one source, and the images that could not be read."""

    images: npt.NDArray[np.uint8]
    skipped: list[Skipped]


def cache_folder() -> Path:
    """Return `$SCALE_CACHE`, or `scale` in the user's cache folder."""
    if chosen := os.environ.get("SCALE_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path("~/.cache").expanduser()) / "scale"


def entry_path(encoded: Encoded, image_size: int | None) -> Path:
    """Return the file of the decoded images of this source."""
    key = json.dumps([_FORMAT, encoded.identity, image_size])
    return cache_folder() / "decoded" / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.images"


def read_entry(path: Path, fingerprint: str) -> Entry | None:
    """Open an entry; None if it is missing or damaged, or if the source has changed."""
    try:
        with open(path, "rb") as file:
            about = _read_description(file)
        if about is None or about["fingerprint"] != fingerprint:
            return None
        # A plain array, so that its slices are plain arrays, too.
        images = np.asarray(np.memmap(path, np.uint8, mode="r", shape=tuple(about["shape"])))
    except (OSError, ValueError):
        return None
    return Entry(images, [Skipped(**one) for one in about["skipped"]])


def build_entry(path: Path, encoded: Encoded, options: LoadOptions) -> None:
    """Decode into a temporary file; when it is complete, it becomes the entry."""
    with atomic_path(path) as part, open(part, "wb") as file:
        sink = _FileSink(file)
        shape, skipped = decode(encoded, options, sink)
        about = {
            "shape": [encoded.total - len(skipped), *shape],
            "skipped": [asdict(one) for one in skipped],
            "fingerprint": encoded.fingerprint,
        }
        text = json.dumps(about).encode()
        digest = hashlib.sha256(text).digest()
        sink.append(text + _TAIL.pack(_MAGIC, len(text), digest))
        sink.flush()


@contextlib.contextmanager
def sole_builder(path: Path) -> Iterator[None]:
    """Wait until no other process builds this entry; delete the parts that killed ones left.

    Without file locks, every process builds its own part; the last one becomes the entry.
    """
    with wait_for(path.with_suffix(".lock")) as alone:
        for left in path.parent.glob(f".{path.name}.*.part") if alone else ():
            left.unlink(missing_ok=True)
        yield


class _FileSink:
    """Writes blocks to a file; a failure to write is a `CacheUnwritableError`."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def start(self, nbytes: int) -> None:
        self._file.seek(0)
        self._file.truncate()
        if shutil.disk_usage(os.path.dirname(self._file.name)).free < nbytes:
            raise CacheUnwritableError("not enough space for the decoded images")

    def write(self, block: npt.NDArray[np.uint8]) -> None:
        self.append(np.ascontiguousarray(block).data)

    def append(self, data: bytes | memoryview) -> None:
        try:
            self._file.write(data)
        except OSError as error:
            raise CacheUnwritableError(str(error)) from error

    def flush(self) -> None:
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise CacheUnwritableError(str(error)) from error


def _read_description(file: BinaryIO) -> dict[str, Any] | None:
    size = file.seek(0, os.SEEK_END)
    if size < _TAIL.size:
        return None
    file.seek(size - _TAIL.size)
    magic, length, digest = _TAIL.unpack(file.read(_TAIL.size))
    if magic != _MAGIC or length > size - _TAIL.size:
        return None
    file.seek(size - _TAIL.size - length)
    text = file.read(length)
    if hashlib.sha256(text).digest() != digest:
        return None
    about: dict[str, Any] = json.loads(text)
    pixels = int(np.prod(about["shape"], dtype=np.int64))
    return about if pixels + length + _TAIL.size == size else None
