"""More like this: the stored images most similar to one, exactly, or with usearch beyond that."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image

from scale._errors import InputError
from scale._images import as_uint8, channels_first
from scale.data.pixels import fit_square, to_rgb
from scale.live.view import Vectors

EXACT = 200_000  # images up to which every one is compared


class Hit(NamedTuple):
    """A stored image, its cosine similarity to the query, and when it was taken."""

    id: int
    score: float
    taken: float


@dataclass(frozen=True)
class Answer:
    """The result of a search.

    Parameters
    ----------
    hits
        Most similar first.
    stale
        Stored images without an embedding of the learner's present state. The hits have one.
    step
        Batches that the learner had learned.
    """

    hits: tuple[Hit, ...]
    stale: int
    step: int


class Index:
    """Embeddings in memory, searched by cosine similarity. Any thread may use it.

    Parameters
    ----------
    ids, vectors
        Images, (n,), and their embeddings of length 1, (n, d).
    exact
        Number of images up to which every one is compared; beyond it, usearch finds nearly all of
        the nearest.

    Examples
    --------
    >>> index = Index(np.array([7, 8]), np.eye(2, dtype=np.float32))
    >>> index.nearest(np.array([0.6, 0.8], np.float32), 1)
    [8]
    """

    def __init__(self, ids: npt.NDArray[np.int64], vectors: Vectors, exact: int = EXACT) -> None:
        self._lock = threading.Lock()
        self._exact = exact
        self._ids, self._vectors = ids.copy(), vectors.copy()
        self._used = len(ids)
        self._place = {int(one): at for at, one in enumerate(ids)}
        self._graph: Any = None

    def __len__(self) -> int:
        return self._used

    def put(self, ids: list[int], vectors: Vectors) -> None:
        """Add embeddings, or replace them."""
        with self._lock:
            if self._vectors.shape[1:] != vectors.shape[1:]:  # another width: begin again
                self._ids, self._vectors = np.empty(0, np.int64), vectors[:0].copy()
                self._used, self._place, self._graph = 0, {}, None
            for one, vector in zip(ids, vectors, strict=True):
                at = self._place.get(one)
                if at is None:
                    at = self._place[one] = self._next()
                self._ids[at], self._vectors[at] = one, vector
                if self._graph is not None:
                    self._graph.remove(one)
                    self._graph.add(one, vector)

    def nearest(self, query: Vectors, k: int) -> list[int]:
        """Return the images of the `k` embeddings most similar to a query, (d,)."""
        with self._lock:
            if self._used == 0 or len(query) != self._vectors.shape[1]:
                return []
            if self._used > self._exact:
                return self._nearly_nearest(query, k)
            rows = torch.from_numpy(self._vectors[: self._used])
            scores = rows @ torch.from_numpy(np.array(query))  # (n,)
            best = scores.topk(min(k, self._used)).indices.numpy()
            return [int(one) for one in self._ids[best]]

    def _next(self) -> int:
        if self._used == len(self._ids):
            room = max(2 * self._used, 1024)
            ids, vectors = self._ids, self._vectors
            self._ids = np.zeros(room, np.int64)
            self._vectors = np.zeros((room, vectors.shape[1]), np.float32)
            self._ids[: self._used], self._vectors[: self._used] = ids, vectors
        self._used += 1
        return self._used - 1

    def _nearly_nearest(self, query: Vectors, k: int) -> list[int]:
        if self._graph is None:
            self._graph = _make_graph(self._ids[: self._used], self._vectors[: self._used])
        return [int(one) for one in self._graph.search(query, k).keys]


def as_query(image: npt.NDArray[np.uint8], side: int) -> npt.NDArray[np.uint8]:
    """Return an image, h x w x c, c x h x w or h x w, as a batch of one for the learner.

    Examples
    --------
    >>> as_query(np.zeros((48, 64), np.uint8), 32).shape
    (1, 3, 32, 32)
    """
    batch = as_uint8(image[..., None] if image.ndim == 2 else image)[None]
    planes = channels_first(batch, name="the image")[0, :3]  # (1 or 3, h, w)
    pixels = np.ascontiguousarray(planes.transpose(1, 2, 0))  # (h, w, 1 or 3)
    rgb = to_rgb(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    square = np.asarray(fit_square(Image.fromarray(rgb), side))
    return np.ascontiguousarray(square.transpose(2, 0, 1))[None]


def _make_graph(ids: npt.NDArray[np.int64], vectors: Vectors) -> Any:
    try:
        from usearch.index import Index as Graph
    except ImportError as error:
        raise InputError(
            f"search among more than {EXACT:,} images needs usearch; install it with: "
            "pip install 'scale-lifelong[search]'"
        ) from error
    graph = Graph(ndim=vectors.shape[1], metric="ip", dtype="f16")
    graph.add(ids.astype(np.uint64), vectors)
    return graph
