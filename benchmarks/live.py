"""live learning: milliseconds an image at 5 and 1 updates a batch, and growth of memory."""

from __future__ import annotations

import tempfile
import time

import numpy as np

from benchmarks._measure import Row, row
from scale.live import WatchConfig, Watcher
from scale.live.budget import resident_bytes

HEIGHT, WIDTH, CHUNK = 120, 160, 128


def main(quick: bool = False) -> list[Row]:
    """Return a row for each number of updates, and one for the memory over many images."""
    return [*(speed(steps, quick) for steps in (5, 1)), growth(quick)]


def speed(steps: int, quick: bool) -> Row:
    """Return what an image costs from `feed` to learned, beside learning alone."""
    count = 128 if quick else 1024
    config = WatchConfig(params={"steps_per_batch": steps, **(_small() if quick else {})})
    with tempfile.TemporaryDirectory() as out, Watcher(out, config=config) as watcher:
        _feed(watcher, 2 * config.batch_size)  # so that the memory is in use
        watcher.flush()
        start = time.perf_counter()
        _feed(watcher, count)
        watcher.flush()
        whole = (time.perf_counter() - start) / count
        learner = watcher.learner
        batch = watcher.store.pixels(range(1, config.batch_size + 1))
        start = time.perf_counter()
        learner.partial_fit(batch)
        alone = (time.perf_counter() - start) / config.batch_size
    return row(
        f"{steps} updates a batch: an image",
        1000 * whole,
        limit=("partial_fit alone", 1000 * alone),
        note=f"{1 / whole:.1f} images/s",
    )


def growth(quick: bool) -> Row:
    """Return how much memory grows over many images, after the first tenth of them."""
    count = 1280 if quick else 100_000
    config = WatchConfig(method="patches", image_size=16, checkpoint_seconds=20)
    with tempfile.TemporaryDirectory() as out, Watcher(out, config=config) as watcher:
        _feed(watcher, count // 10)
        watcher.flush()
        before = resident_bytes()
        _feed(watcher, count - count // 10)
        watcher.flush()
        grown = resident_bytes() - before
    return row(
        f"memory that {count - count // 10} more images add",
        max(grown, 1) / 1e6,
        unit="MB",
        note=f"{before / 1e6:.0f} MB after the first {count // 10}",
    )


def _feed(watcher: Watcher, count: int) -> None:
    rng = np.random.default_rng(count)
    for at in range(0, count, CHUNK):
        n = min(CHUNK, count - at)
        parts = rng.integers(0, 256, (n, HEIGHT // 20, WIDTH // 20, 3), dtype=np.uint8)
        watcher.feed(parts.repeat(20, axis=1).repeat(20, axis=2))


def _small() -> dict[str, object]:
    return {"encoder": "cnn", "memory_size": 64, "memory_batch": 16}
