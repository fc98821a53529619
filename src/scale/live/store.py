"""The store of a live learner: one SQLite file and thumbnails."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from PIL import Image

from scale._errors import DamagedFileError, InputError, UnwritableError
from scale.live.connection import Connections
from scale.live.disk import file_bytes, folder_bytes
from scale.live.pictures import Picture, from_png, to_thumbnail
from scale.live.schema import TABLES, VERSION

STORE, THUMBNAILS = "store.sqlite", "thumbs"
PER_FOLDER = 1000  # thumbnails
AT_ONCE = 500  # ids in one query; SQLite limits them
_HAS_IMAGES = "SELECT 1 FROM pragma_table_info('images')"
_HAS_LOOKED = f"{_HAS_IMAGES} WHERE name = 'looked'"


class Store:
    """What came, when and from where; what was said about it; and the journal of batches.

    Any thread and any process may use it, while a watcher runs too.

    Parameters
    ----------
    folder
        Folder of the live learner.
    create
        Make the store if there is none.

    Raises
    ------
    InputError
        There is no store in the folder.
    UnwritableError
        The disk is full or cannot be written. This may also come from every method that writes;
        nothing is then half-written.

    Examples
    --------
    >>> import tempfile
    >>> from scale.live.pictures import make_picture
    >>> store = Store(Path(tempfile.mkdtemp()), create=True)
    >>> camera = store.source("rtsp://door", "stream")
    >>> frame = np.zeros((48, 64, 3), np.uint8)
    >>> store.add_image(camera, make_picture(frame, 32), taken=10.0)
    1
    >>> store.journal([1], steps=5), store.pixels([1]).shape
    (1, (1, 3, 32, 32))
    """

    def __init__(self, folder: Path, *, create: bool = False) -> None:
        self.folder = Path(folder)
        self.path = self.folder / STORE
        self.connections = Connections(self.path)
        self._thumbnail_bytes: int | None = None
        if create:
            self._create()
        elif not self.path.is_file():
            raise InputError(
                f"{self.folder} holds no live learner: there is no {STORE} in it; check the path, "
                f"or start one with: scale watch SOURCE --out {self.folder}"
            )
        self._check_version()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self.connections.close()

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """Return a block of which all changes are made or none; blocks may be nested."""
        return self.connections.transaction()

    def query(self, sql: str, *args: Any) -> list[sqlite3.Row]:
        """Return the rows of a query."""
        connection = self.connections.here
        with self.connections.telling():
            return connection.execute(sql, args).fetchall()

    def source(self, uri: str, kind: str) -> int:
        """Return the number of a source; make it if it is new."""
        with self.transaction() as db:
            db.execute(
                "INSERT INTO sources (uri, kind, state, message, changed) VALUES (?, ?, 'new', '', "
                "?) ON CONFLICT (uri) DO UPDATE SET kind = excluded.kind",
                (uri, kind, time.time()),
            )
            return int(db.execute("SELECT id FROM sources WHERE uri = ?", (uri,)).fetchone()[0])

    def add_image(
        self,
        source: int,
        picture: Picture,
        *,
        taken: float,
        path: str | None = None,
        came: float | None = None,
        looked: int | None = None,
    ) -> int:
        """Add an image and return its number: 1, 2, ... in order of arrival.

        Parameters
        ----------
        source
            Number of its source.
        picture
            The image.
        taken
            When it was taken, in unix seconds.
        path
            Its file, if it has one.
        came
            When it came; now by default.
        looked
            Frames of its source that were taken or duplicates, this one included.
        """
        box = None if picture.box is None else json.dumps(picture.box)
        with self.transaction() as db:
            made = db.execute(
                "INSERT INTO images (source, path, taken, came, width, height, box, pixels, looked)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(source, path, taken, time.time() if came is None else came),
                    *(picture.width, picture.height, box, picture.pixels, looked),
                ),
            )
            number = int(made.lastrowid or 0)
            # A kill before the commit leaves a file that the next image of this number replaces.
            self._write_thumbnail(number, picture.thumbnail)
        return number

    def row(self, number: int) -> sqlite3.Row:
        """Return all that is known about an image, except its pixels."""
        found = self.query(
            "SELECT id, source, path, taken, came, width, height, box, batch, "
            "pixels IS NOT NULL AS kept FROM images WHERE id = ?",
            number,
        )
        if not found:
            raise InputError(f"there is no image {number} in {self.folder}")
        return found[0]

    def between(self, start: float, end: float, limit: int = 1000) -> list[sqlite3.Row]:
        """Return at most `limit` images taken from `start` up to but without `end`, oldest first.

        If there are more, they are spread evenly over all of them.
        """
        where = "FROM images WHERE taken >= ? AND taken < ? AND pixels IS NOT NULL"
        total = self.query(f"SELECT COUNT(*) {where}", start, end)[0][0]
        stride = max(-(-total // max(limit, 1)), 1)
        return self.query(
            "SELECT * FROM (SELECT id, source, path, taken, came, width, height, box, batch, "
            f"ROW_NUMBER() OVER (ORDER BY taken, id) AS place {where}) WHERE (place - 1) % ? = 0",
            *(start, end, stride),
        )

    def pixels(self, numbers: Sequence[int]) -> npt.NDArray[np.uint8]:
        """Return images at the learner's size, (n, 3, h, w), in the order of `numbers`."""
        found: dict[int, bytes | None] = {}
        for part in _parts(numbers):
            marks = ", ".join("?" * len(part))
            rows = self.query(f"SELECT id, pixels FROM images WHERE id IN ({marks})", *part)
            found |= {row[0]: row[1] for row in rows}
        gone = [number for number in numbers if found.get(number) is None]
        if gone:
            raise InputError(f"the pixels of image {gone[0]} are no longer in {self.path}")
        if not found:
            raise InputError("pixels needs the number of at least one image")
        frames = [self._decoded(number, found[number]) for number in numbers]
        return np.ascontiguousarray(np.stack(frames).transpose(0, 3, 1, 2))  # (n, 3, h, w)

    def thumbnail(self, number: int) -> Path:
        """Return the file of an image's thumbnail; one that is lost is made from its pixels."""
        path = self.thumbnail_path(number)
        if not (path.is_file() and path.stat().st_size):
            small = self.pixels([number])[0].transpose(1, 2, 0)
            self._write_thumbnail(number, to_thumbnail(Image.fromarray(small)))
        return path

    def thumbnail_path(self, number: int) -> Path:
        """Return where the thumbnail of an image is or would be."""
        return self.folder / THUMBNAILS / f"{number // PER_FOLDER:03d}" / f"{number}.jpg"

    def waiting(self, limit: int = -1) -> list[int]:
        """Return the images that are in no batch yet, in order of arrival."""
        sql = "SELECT id FROM images WHERE batch IS NULL ORDER BY id LIMIT ?"
        return [row[0] for row in self.query(sql, limit)]

    def waiting_of(self, kinds: Sequence[str]) -> list[int]:
        """Return the images of these kinds of sources that are in no batch yet."""
        marks = ", ".join("?" * len(kinds))
        sql = (
            "SELECT images.id FROM images JOIN sources ON sources.id = source "
            f"WHERE batch IS NULL AND kind IN ({marks})"
        )
        return [row[0] for row in self.query(sql, *kinds)]

    def journal(self, numbers: Sequence[int], steps: int) -> int:
        """Write down that these images are the next batch, and return its number: 1, 2, ..."""
        with self.transaction() as db:
            made = db.execute(
                "INSERT INTO batches (steps, journaled) VALUES (?, ?)", (steps, time.time())
            )
            batch = int(made.lastrowid or 0)
            for part in _parts(numbers):
                marks = ", ".join("?" * len(part))
                db.execute(f"UPDATE images SET batch = ? WHERE id IN ({marks})", (batch, *part))
        return batch

    def batch_images(self, batch: int) -> list[int]:
        """Return the images of a batch, in order."""
        return [
            r[0] for r in self.query("SELECT id FROM images WHERE batch = ? ORDER BY id", batch)
        ]

    def remove(self, numbers: Sequence[int]) -> None:
        """Remove pixels, thumbnails and embeddings of images; that they came stays known."""
        for number in numbers:  # first, so that a kill leaves no thumbnail that nobody knows of
            path = self.thumbnail_path(number)
            self._count_thumbnail(-file_bytes(path))
            path.unlink(missing_ok=True)
        with self.transaction() as db:
            for part in _parts(numbers):
                marks = ", ".join("?" * len(part))
                db.execute(f"UPDATE images SET pixels = NULL WHERE id IN ({marks})", part)
                db.execute(f"DELETE FROM embeddings WHERE image IN ({marks})", part)

    def disk_bytes(self) -> int:
        """Return the bytes of tables and thumbnails, without the pages that are free again."""
        pragmas = ("page_count", "freelist_count", "page_size")
        pages, free, size = (self.query(f"PRAGMA {name}")[0][0] for name in pragmas)
        if self._thumbnail_bytes is None:  # looked up once, then counted
            self._thumbnail_bytes = folder_bytes(self.folder / THUMBNAILS)
        return int((pages - free) * size) + self._thumbnail_bytes

    def get_meta(self, key: str) -> str | None:
        """Return a value of the table `meta`."""
        found = self.query("SELECT value FROM meta WHERE key = ?", key)
        return found[0][0] if found else None

    def set_meta(self, key: str, value: str) -> None:
        """Set a value of the table `meta`."""
        with self.transaction() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def _create(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot make the folder {self.folder}: {error.strerror}; choose another --out"
            ) from error
        self.connections.prepare()
        with self.transaction() as db:
            if db.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
                for statement in TABLES.split(";"):
                    db.execute(statement)
                db.execute("INSERT INTO meta VALUES ('version', ?)", (VERSION,))
            elif not db.execute(_HAS_LOOKED).fetchone() and db.execute(_HAS_IMAGES).fetchone():
                db.execute("ALTER TABLE images ADD COLUMN looked INTEGER")

    def _check_version(self) -> None:
        found: str | None = None
        with contextlib.suppress(sqlite3.OperationalError):  # it has no such table
            found = self.get_meta("version")
        if found != VERSION:
            raise DamagedFileError(
                f"{self.path} has the tables of {found or 'something else'!r}, not of version "
                f"{VERSION}; use the version of scale that made it, or another --out"
            )

    def _decoded(self, number: int, png: bytes | None) -> npt.NDArray[np.uint8]:
        try:
            return from_png(png or b"")
        except Exception as error:  # Pillow raises nearly every type on damaged data
            raise DamagedFileError(
                f"the pixels of image {number} in {self.path} are damaged; put back a copy of it"
            ) from error

    def _write_thumbnail(self, number: int, jpeg: bytes) -> None:
        path = self.thumbnail_path(number)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(jpeg)
            self._count_thumbnail(len(jpeg))
        except OSError as error:
            raise UnwritableError(
                f"cannot write {path}: {error.strerror}; free some space, or change that"
            ) from error

    def _count_thumbnail(self, size: int) -> None:
        if self._thumbnail_bytes is not None:
            self._thumbnail_bytes += size


def _parts(numbers: Iterable[int]) -> list[tuple[int, ...]]:
    """Return the numbers in parts that one query can hold."""
    plain = tuple(int(number) for number in numbers)
    return [plain[at : at + AT_ONCE] for at in range(0, len(plain), AT_ONCE)]
