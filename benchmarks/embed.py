"""embeddings of 1,000 JPEG files, 100 pixels to 32, with SCALE's ResNet-18, by `scale embed`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks._measure import Row, median_of, row
from benchmarks.peak_memory import peak
from scale._machine import cores
from scale.data import LoadOptions, load_files
from scale.data.archive import Files
from scale.methods import METHODS, load
from scale.runs import embed_images
from scale.runs.embed_work import PIECE

COUNT = 1000
SIDE = 32
REPEATS = 2


def main(quick: bool = False) -> list[Row]:
    """Time whole embeddings in turns; measure the peak memory of each in a new process."""
    count, repeats = (64, 1) if quick else (COUNT, REPEATS)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        learner = save_learner(folder / "learner.safetensors", quick)
        files = photos(folder, count)
        seconds = median_of(
            {
                "ours": lambda: stream(learner, folder / "photos", folder / "z.parquet"),
                "whole": lambda: load_all(learner, files, folder / "z.npy"),
                "decode": lambda: decode(files),
                "encode": lambda: encode(learner, count),
            },
            repeats,
            warm_up=False,
        )
        memory = {kind: measure(kind, learner, folder) for kind in ("ours", "whole")}
    cost = {name: 1e3 * one / count for name, one in seconds.items()}
    slower = max("decode", "encode", key=lambda name: cost[name])
    alone = {"decode": "decoding alone", "encode": "the encoder alone"}[slower]
    return [
        row(
            f"an image of {count}, to z.parquet",
            cost["ours"],
            ("all decoded first, then one transform, to z.npy", cost["whole"]),
            (alone, cost[slower]),
            note=f"{1e3 / cost['ours']:.0f} images/s",
        ),
        row(
            "its peak memory, without that of the imports",
            memory["ours"],
            ("all decoded first, then one transform", memory["whole"]),
            unit="MB",
        ),
    ]


def save_learner(path: Path, quick: bool) -> Path:
    """Save a learner that has seen a few colour images."""
    encoder = "cnn" if quick else "resnet18"
    learner = METHODS["scale"](encoder=encoder, steps_per_batch=1, augmentation="cifar")
    images = np.random.default_rng(0).integers(0, 256, (16, 3, SIDE, SIDE), dtype=np.uint8)
    learner.partial_fit(images).save(path)
    return path


def photos(folder: Path, count: int) -> list[Path]:
    """Link real photographs of 100 pixels from SCALE_DATA, or make some, in `folder`/photos."""
    (folder / "photos").mkdir()
    data = os.environ.get("SCALE_DATA")
    real = sorted((Path(data) / "fruits").rglob("*.jpg"))[:count] if data else []
    rng = np.random.default_rng(0)
    for i in range(count):
        target = folder / "photos" / f"{i:05d}.jpg"
        if i < len(real):
            target.symlink_to(real[i].resolve())
        else:
            coarse = rng.integers(0, 256, (10, 10, 3), dtype=np.uint8)
            Image.fromarray(coarse).resize((100, 100)).save(target, quality=90)
    return sorted((folder / "photos").iterdir())


def stream(learner: Path, folder: Path, out: Path) -> None:
    """Embed as `scale embed` does."""
    embed_images(learner, str(folder), out)


def load_all(learner: Path, files: list[Path], out: Path) -> None:
    """Decode all images, not from the cache, then embed them."""
    os.environ["SCALE_CACHE"] = str(out.parent / f"cache-{time.monotonic_ns()}")
    found = load_files(files, LoadOptions(image_size=SIDE))
    np.save(out, load(learner).transform(found.images))


def decode(files: list[Path]) -> None:
    """Decode all images in as many threads as there are cores."""
    with ThreadPoolExecutor(cores()) as pool:
        pieces = Files("files", files).pieces(0, len(files), PIECE)
        list(pool.map(lambda piece: piece.decode(SIDE, SIDE), pieces))


def encode(learner: Path, count: int) -> None:
    """Embed as many images that are decoded already."""
    load(learner).transform(np.zeros((count, 3, SIDE, SIDE), np.uint8))


def measure(kind: str, learner: Path, folder: Path) -> float:
    """Return the peak memory of a kind of embedding in MB."""
    command = [sys.executable, "-m", "benchmarks.embed", kind, str(learner), str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(json.loads(done.stdout))


def child(kind: str, learner: Path, folder: Path) -> float:
    """Embed in this process; return its peak memory above that of the imports."""
    at_start = peak()
    if kind == "ours":
        stream(learner, folder / "photos", folder / "child.parquet")
    else:
        load_all(learner, sorted((folder / "photos").iterdir()), folder / "child.npy")
    return peak() - at_start


if __name__ == "__main__":
    print(json.dumps(child(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))))
