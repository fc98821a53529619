"""Embeddings of stored images: each has the learner's step, and stale ones are made again."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scale._errors import InputError, UnwritableError
from scale.live.search import Index
from scale.live.store import Store
from scale.live.view import Vectors, View

CHUNK = 256  # images that are read, embedded and written at once
AT_ONCE = 500  # ids in one query
_WRITE = (
    "INSERT INTO embeddings (image, step, vector) SELECT id, ?, ? FROM images "
    "WHERE id = ? AND pixels IS NOT NULL ON CONFLICT (image) DO UPDATE SET step = excluded.step, "
    "vector = excluded.vector WHERE excluded.step >= embeddings.step"
)

Progress = Callable[[int, int], None]


class Embeddings:
    """The embeddings in a store.

    An embedding is fresh if a view of this step made it, else stale. All that is compared with
    each other is embedded by one view.

    Parameters
    ----------
    store
        The store.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._index: Index | None = None
        self._loading = threading.Lock()

    def index(self) -> Index:
        """Return all embeddings, fresh or stale, for search. The first call reads them."""
        with self._loading:
            if self._index is None:
                ids, vectors = self._read()
                self._index = Index(ids, vectors)
            return self._index

    def fresh(self, ids: Sequence[int], view: View, progress: Progress | None = None) -> Vectors:
        """Return embeddings of images by one view, in the order of `ids`.

        Stale ones are made again and written; a disk that takes no more costs only time.
        """
        if not ids:
            return np.empty((0, 0), np.float32)
        wanted = list(dict.fromkeys(int(one) for one in ids))
        found = dict[int, Vectors]()
        for part in parts(wanted):
            rows = self.store.query(
                f"SELECT image, vector FROM embeddings WHERE step = ? AND image IN ({marks(part)})",
                *(view.step, *part),
            )
            found |= {row[0]: as_vector(row[1]) for row in rows}
        stale = [one for one in wanted if one not in found]
        for at in range(0, len(stale), CHUNK):
            some = stale[at : at + CHUNK]
            vectors = view.embed(self.store.pixels(some))
            self.write(some, view.step, vectors)
            found |= dict(zip(some, vectors, strict=True))
            if progress is not None:
                progress(min(at + CHUNK, len(stale)), len(stale))
        return np.stack([found[int(one)] for one in ids])

    def write(self, ids: Sequence[int], step: int, vectors: Vectors) -> None:
        """Store embeddings, unless later ones are there or the image is gone."""
        rows = [(step, v.tobytes(), i) for i, v in zip(ids, vectors, strict=True)]
        with contextlib.suppress(UnwritableError), self.store.transaction() as db:
            db.executemany(_WRITE, rows)
        if self._index is not None:
            self._index.put([int(one) for one in ids], vectors)

    def stale(self, view: View, limit: int = -1) -> list[int]:
        """Return images whose embedding is missing or stale: missing first, then the oldest."""
        missing = self.missing(limit)
        if 0 <= limit <= len(missing):
            return missing
        rows = self.store.query(
            "SELECT image FROM embeddings WHERE step < ? ORDER BY step, image LIMIT ?",
            *(view.step, -1 if limit < 0 else limit - len(missing)),
        )
        return missing + [row[0] for row in rows]

    def missing(self, limit: int = -1) -> list[int]:
        """Return images without an embedding, the newest first."""
        rows = self.store.query(
            "SELECT id FROM images WHERE pixels IS NOT NULL AND id NOT IN (SELECT image FROM "
            "embeddings) ORDER BY id DESC LIMIT ?",
            limit,
        )
        return [row[0] for row in rows]

    def count_stale(self, view: View) -> int:
        """Return how many images have no fresh embedding."""
        kept = "SELECT COUNT(*) FROM images WHERE pixels IS NOT NULL"
        fresh = "SELECT COUNT(*) FROM embeddings WHERE step = ?"
        row = self.store.query(f"SELECT ({kept}) - ({fresh})", view.step)[0]
        return max(int(row[0]), 0)

    def _read(self) -> tuple[npt.NDArray[np.int64], Vectors]:
        rows = self.store.query("SELECT image, vector FROM embeddings ORDER BY step")
        if not rows:
            return np.empty(0, np.int64), np.empty((0, 0), np.float32)
        length = len(rows[-1][1])  # of the newest: the width of an encoder may have changed
        rows = [row for row in rows if len(row[1]) == length]
        ids = np.array([row[0] for row in rows], np.int64)
        return ids, as_vector(b"".join(row[1] for row in rows)).reshape(len(rows), -1)


def as_vector(blob: bytes) -> Vectors:
    """Return the numbers of a stored embedding."""
    return np.frombuffer(blob, "<f4")


def marks(ids: Sequence[Any]) -> str:
    """Return the placeholders of a query for as many values."""
    return ", ".join("?" * len(ids))


def parts(ids: Iterable[int]) -> list[tuple[int, ...]]:
    """Return ids in parts that one query can hold."""
    plain = tuple(ids)
    return [plain[at : at + AT_ONCE] for at in range(0, len(plain), AT_ONCE)]


def check_ids(store: Store, ids: Sequence[int]) -> list[int]:
    """Return ids of images whose pixels are stored, each once; raise `InputError` for others."""
    wanted = list(dict.fromkeys(int(one) for one in ids))
    there: dict[int, int] = {}
    for part in parts(wanted):
        rows = store.query(
            f"SELECT id, pixels IS NOT NULL FROM images WHERE id IN ({marks(part)})", *part
        )
        there |= {row[0]: row[1] for row in rows}
    for one in wanted:
        if one not in there:
            raise InputError(f"there is no image {one} in {store.folder}")
        if not there[one]:
            raise InputError(f"image {one} left {store.folder} to make room; choose another")
    return wanted
