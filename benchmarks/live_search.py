"""How long search and the map take among many stored images.

``python -m benchmarks.live_search [--images N]`` fills a store with N images and random
embeddings of 128 numbers, and prints the processor time of each question to it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from scale.live import Knowledge, Store
from scale.live.pictures import make_picture
from scale.methods import METHODS
from scale.report.formats import markdown

SIDE = 8


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live_search", description=__doc__)
    parser.add_argument("--images", type=int, default=200_000)
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        knowledge = filled(Path(folder), args.images)
        questions: dict[str, Callable[[], object]] = {
            "search, the first one reads all embeddings": lambda: knowledge.search(1),
            "search": lambda: knowledge.search(2),
            "map of 1,000, PCA": lambda: knowledge.map(1000, "pca"),
            "map of 1,000, t-SNE": lambda: knowledge.map(1000, "tsne"),
            "groups": knowledge.groups,
        }
        rows = [[what, f"{seconds(ask):.2f}"] for what, ask in questions.items()]
        knowledge.store.close()
    sys.stdout.write(markdown([f"{args.images:,} images", "seconds of processor time"], rows))
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


def seconds(ask: Callable[[], object]) -> float:
    """Return the processor time of a question; other programs do not count."""
    start = time.process_time()
    ask()
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
