"""How long search, the map and the timeline take among many stored images.

``python -m benchmarks.live_search [--images N]`` fills a store with N images and random
embeddings of 128 numbers, and prints the processor time of each question to it.
"""

from __future__ import annotations

import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks._lines import keep, kept, parser_of, table
from benchmarks._measure import Row
from scale.live import Knowledge, Store
from scale.live.pictures import make_picture
from scale.live.service import Server, make_app
from scale.methods import METHODS

SIDE = 8


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 0."""
    parser = parser_of("live_search", __doc__)
    parser.add_argument("--images", type=int, default=200_000)
    args = parser.parse_args(arguments)
    if args.table is not None:
        sys.stdout.write(table(kept(args.table, "live_search")))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        knowledge = filled(Path(folder), args.images)
        server = Server(make_app(None, knowledge, knowledge.store), "127.0.0.1", 0)
        questions: dict[str, Callable[[], object]] = {
            "search, the first one reads all embeddings": lambda: knowledge.search(1),
            "search": lambda: knowledge.search(2),
            "map of 1,000, PCA": lambda: knowledge.map(1000, "pca"),
            "map of 1,000, t-SNE": lambda: knowledge.map(1000, "tsne"),
            "groups": knowledge.groups,
            "timeline of the page, all hours": lambda: get(server, "/timeline"),
            "timeline of the page, an hour": lambda: get(server, "/timeline/1"),
        }
        with server:
            rows: list[Row] = [
                {
                    "images": f"{args.images:,}",
                    "question": what,
                    "seconds of processor time": f"{seconds(ask):.2f}",
                }
                for what, ask in questions.items()
            ]
        knowledge.store.close()
    sys.stdout.write(table(keep(args.json, "live_search", rows)))
    return 0


def filled(folder: Path, count: int) -> Knowledge:
    """Return the knowledge of a store whose embeddings are all fresh."""
    rng = np.random.default_rng(0)
    store = Store(folder, create=True)
    learner = METHODS["random"](encoder="cnn")
    learner.start((3, SIDE, SIDE))
    png = make_picture(rng.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8), SIDE).pixels
    vectors = rng.normal(size=(count, 128)).astype("<f4")
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    with store.transaction() as db:
        db.executemany(
            "INSERT INTO images (id, source, taken, came, width, height, pixels, batch) "
            "VALUES (?, 1, ?, ?, 8, 8, ?, 1)",
            ((at + 1, float(at), float(at), png) for at in range(count)),
        )
        db.executemany(
            "INSERT INTO embeddings VALUES (?, 0, ?)",
            ((at + 1, vector.tobytes()) for at, vector in enumerate(vectors)),
        )
    return Knowledge(store, learner)


def get(server: Server, path: str) -> bytes:
    """Return what the page gets from a path."""
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}") as answer:
        content: bytes = answer.read()
    return content


def seconds(ask: Callable[[], object]) -> float:
    """Return the processor time of a question; other programs do not count."""
    start = time.process_time()
    ask()
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
