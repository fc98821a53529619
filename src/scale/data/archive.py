"""Images that are listed but not loaded: any part of them is read in little memory."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scale._errors import InputError
from scale.data.arrays import as_images
from scale.data.decode import Item, Skipped
from scale.data.file_list import Changes, FileList
from scale.data.listing import fingerprint, walk
from scale.data.parquet import encoded_rows
from scale.data.pixels import BadImageError, Pixels, read_pixels, resize_all, stack_pixels, to_rgb
from scale.data.webdataset import Index

Block = tuple[npt.NDArray[np.uint8], list[Skipped]]  # (n, C, H, W), and those that are not in it


@dataclass(frozen=True)
class Piece:
    """A few consecutive images: encoded ones with their names, or an array.

    `start` is the position of the first one.
    """

    start: int
    items: list[Item] | npt.NDArray[Any]

    def __len__(self) -> int:
        return len(self.items)

    def decode(self, height: int, width: int) -> Block:
        """Return the images at this size; those of another shape are resized if it is a square."""
        if isinstance(self.items, np.ndarray):
            images = as_images(self.items)
            return (resize_all(images, height) if height == width else images), []
        rows, skipped = list[Pixels](), list[Skipped]()
        for index, (name, content) in enumerate(self.items, start=self.start):
            try:
                pixels = read_pixels(content, height if height == width else None)
            except BadImageError as error:
                skipped.append(Skipped(index, name, str(error)))
                continue
            if pixels.shape[:2] != (height, width):
                raise InputError(
                    f"{name} is {pixels.shape[1]} x {pixels.shape[0]} pixels, the images of this "
                    f"learner are {width} x {height}; resize it first"
                )
            rows.append(pixels)
        if any(pixels.ndim == 3 for pixels in rows):
            rows = [to_rgb(pixels) for pixels in rows]
        empty = np.empty((0, 1, height, width), np.uint8)
        return (stack_pixels(rows) if rows else empty), skipped


class Archive(ABC):
    """Images of one source, in a fixed order.

    Attributes
    ----------
    source
        Where they are, for messages.
    total
        How many there are.
    digest
        Changes when the files do.
    skipped
        Files that were left out when the source was opened.
    """

    source: str
    total: int
    digest: str
    skipped: tuple[str, ...] = ()

    @abstractmethod
    def pieces(self, start: int, stop: int, size: int) -> Iterator[Piece]:
        """Yield the images from `start` to `stop`, at most `size` at a time."""

    @abstractmethod
    def part(self, start: int, stop: int) -> Archive:
        """Return these images as an archive that is small enough to be sent to another process."""

    @abstractmethod
    def columns(self, start: int, stop: int) -> dict[str, list[Any]]:
        """Return the place of each image: its `path`, or its `source` and `index` there."""

    def changes(self) -> Changes:
        """Return what has happened to the files since they were listed."""
        return Changes(0, 0)


@dataclass(frozen=True)
class Files(Archive):
    """Image files; `root` is the folder that was listed, or None for a single file."""

    source: str
    files: Sequence[Path]
    root: Path | None = None
    digest: str = ""

    @property
    def total(self) -> int:  # type: ignore[override]
        return len(self.files)

    def pieces(self, start: int, stop: int, size: int) -> Iterator[Piece]:
        for at in range(start, stop, size):
            some = self.files[at : min(at + size, stop)]
            yield Piece(at, [(str(file), file) for file in some])

    def part(self, start: int, stop: int) -> Files:
        return Files(self.source, list(self.files[start:stop]))

    def columns(self, start: int, stop: int) -> dict[str, list[Any]]:
        return {"path": [str(file) for file in self.files[start:stop]]}

    def changes(self) -> Changes:
        if self.root is None or not isinstance(self.files, FileList):
            return super().changes()
        return self.files.changes(walk(self.root))


@dataclass(frozen=True)
class Rows(Archive):
    """Rows of parquet files.

    `ends` has the number of rows up to the end of each file; `chosen` are the rows to take, counted
    over all files.
    """

    source: str
    files: tuple[Path, ...]
    image: str
    ends: npt.NDArray[np.int64]
    chosen: npt.NDArray[np.int64]
    digest: str = ""

    @property
    def total(self) -> int:  # type: ignore[override]
        return len(self.chosen)

    def pieces(self, start: int, stop: int, size: int) -> Iterator[Piece]:
        rows = self.chosen[start:stop]
        first, last = self._file_of(rows[[0, -1]])
        before = self.ends[first - 1] if first else 0
        keep = np.zeros(self.ends[last] - before, dtype=bool)
        keep[rows - before] = True
        items = encoded_rows(list(self.files[first : last + 1]), self.image, keep)
        for at in range(start, stop, size):
            yield Piece(at, [next(items) for _ in range(min(size, stop - at))])

    def part(self, start: int, stop: int) -> Rows:
        return replace(self, chosen=self.chosen[start:stop])

    def columns(self, start: int, stop: int) -> dict[str, list[Any]]:
        rows = self.chosen[start:stop]
        of = self._file_of(rows)
        begins = np.concatenate([[0], self.ends[:-1]])
        return {
            "source": [str(self.files[one]) for one in of],
            "index": (rows - begins[of]).tolist(),
        }

    def _file_of(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.searchsorted(self.ends, rows, side="right").astype(np.int64)


@dataclass(frozen=True, eq=False)
class Members(Archive):
    """Images in webdataset shards."""

    source: str
    index: Index
    digest: str = ""

    @property
    def total(self) -> int:  # type: ignore[override]
        return len(self.index.names)

    def pieces(self, start: int, stop: int, size: int) -> Iterator[Piece]:
        items = self.index.items(start, stop)
        for at in range(start, stop, size):
            yield Piece(at, [next(items) for _ in range(min(size, stop - at))])

    def part(self, start: int, stop: int) -> Members:
        return Members(self.source, self.index.part(start, stop))

    def columns(self, start: int, stop: int) -> dict[str, list[Any]]:
        places = self.index.places[start:stop].tolist()
        return {
            "source": [str(self.index.files[shard]) for shard, *_ in places],
            "index": [number for *_, number in places],
        }


@dataclass(frozen=True, eq=False)
class Array(Archive):
    """An array of images, in memory or a view of a file."""

    source: str
    images: npt.NDArray[Any]
    digest: str = ""
    skipped: tuple[str, ...] = ()

    @property
    def total(self) -> int:  # type: ignore[override]
        return len(self.images)

    def pieces(self, start: int, stop: int, size: int) -> Iterator[Piece]:
        for at in range(start, stop, size):
            yield Piece(at, self._rows(at, min(at + size, stop)))

    def part(self, start: int, stop: int) -> Array:
        return Array(self.source, np.array(self._rows(start, stop)))

    def columns(self, start: int, stop: int) -> dict[str, list[Any]]:
        return {"source": [self.source] * (stop - start), "index": list(range(start, stop))}

    def _rows(self, start: int, stop: int) -> npt.NDArray[Any]:
        if not isinstance(self.images, np.memmap):
            return self.images[start:stop]
        # A view of its own for each piece: the pages that it reads leave memory with it.
        view = np.load(str(self.images.filename), mmap_mode="r", allow_pickle=False)
        return np.array(view[start:stop])


def digest_of_files(files: Sequence[Path]) -> str:
    """Return a digest of the absolute names, sizes and modification times of a few files."""
    return fingerprint([file.absolute() for file in files], Path("/"))


def digest_of_images(images: npt.NDArray[np.uint8]) -> str:
    """Return a digest of pixels."""
    digest = hashlib.sha256(str(images.shape).encode())
    for at in range(0, len(images), 1024):
        digest.update(np.ascontiguousarray(images[at : at + 1024]).data)
    return digest.hexdigest()
