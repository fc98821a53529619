"""Images, a tiny learner, and the content of a store without the times of clocks."""

from __future__ import annotations

import dataclasses
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from scale._tensors import read_tensors
from scale.live import WatchConfig, Watcher

TINY = WatchConfig(
    method="scale-plus",
    image_size=16,
    batch_size=8,
    checkpoint_seconds=1e6,
    poll_seconds=0.02,
    params={
        "encoder": "cnn",
        "augmentation": "digits",
        "steps_per_batch": 1,
        "memory_size": 16,
        "memory_batch": 8,
        "clusters": 4,
    },
)
CLOCKS = {"came", "changed", "journaled", "learned", "state", "message"}
LONG_AGO = 1_700_000_000


def make_images(folder: Path, n: int, start: int = 0, *, fresh: bool = False) -> list[Path]:
    """Write images that differ, as 000.png, 001.png, ... long ago, one a minute."""
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for i in range(start, start + n):
        path = folder / f"{i:03d}.png"
        Image.fromarray(make_frame(i)).save(path)
        if not fresh:
            os.utime(path, (LONG_AGO + 60 * i,) * 2)
        made.append(path)
    return made


def make_frame(seed: int, height: int = 24, width: int = 32) -> np.ndarray:
    """Return an image of coloured parts."""
    parts = np.random.default_rng(seed).integers(0, 256, (4, 4, 3), dtype=np.uint8)
    return np.asarray(Image.fromarray(parts).resize((width, height), Image.Resampling.NEAREST))


def watch(
    out: Path, sources: Sequence[Path | str], *, once: bool = True, **options: Any
) -> Watcher:
    """Watch to the end, and return the closed watcher."""
    config = dataclasses.replace(TINY, **options)
    watcher = Watcher(out, [str(one) for one in sources], config=config, once=once)
    try:
        assert watcher.run()
    finally:
        watcher.close()
    return watcher


def contents(out: Path) -> dict[str, Any]:
    """Return the store's tables without clocks, the thumbnails, and the learner's state."""
    db = sqlite3.connect(out / "store.sqlite")
    db.row_factory = sqlite3.Row
    names = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    found: dict[str, Any] = {
        name: [
            {key: row[key] for key in row.keys() if key not in CLOCKS}  # noqa: SIM118
            for row in db.execute(f"SELECT * FROM {name} ORDER BY 1, 2")
        ]
        for name in names
    }
    db.close()
    ids = {row["id"] for row in found["images"]}
    thumbs = sorted((out / "thumbs").rglob("*.jpg"))
    found["thumbs"] = {p.name: p.read_bytes() for p in thumbs if int(p.stem) in ids}
    found["learner"] = learner_bytes(out)
    return found


def learner_bytes(out: Path) -> dict[str, bytes]:
    """Return the state of the saved learner."""
    state, _ = read_tensors(out / "learner.safetensors")
    return {name: tensor.numpy().tobytes() for name, tensor in state.items()}


def make_video(path: Path, seconds: int) -> Path:
    """Write a video of two frames a second, each another picture."""
    import av

    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=2)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for i in range(2 * seconds):
            pixels = make_frame(1000 + i, 48, 64)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode())
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path
