"""All pictures of one run, from its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scale._errors import DamagedFileError, InputError, ScaleError
from scale.data import load_dataset
from scale.data.npy import open_npz, read_npy
from scale.evaluate import protocol_for
from scale.memory import Buffer
from scale.report.curve import draw_curve
from scale.report.embedding import draw_embedding
from scale.report.memory import draw_memory
from scale.report.neighbours import draw_neighbours
from scale.report.stream import draw_streams
from scale.runs import RunConfig, prepare, read_metrics
from scale.runs.config import read_config
from scale.runs.learner import load_learner
from scale.runs.measure import kept_for_map
from scale.runs.run_folder import FLOORS_REMEDY, read_json
from scale.streams import class_over_time, make_order

PICTURES_REMEDY = "put back a copy of it, or leave the pictures out with --no-pictures"
PAPER_STREAMS = ("iid", "seq", "seq-bl", "seq-im", "seq-cc")


def draw_run(folder: Path) -> list[Path]:
    """Draw the accuracy curve, the stream, memory, embedding maps and neighbours of a run.

    Returns
    -------
    list of Path
        The pictures; none for data without labels.
    """
    config = RunConfig.read(folder)
    names: list[str] = read_config(folder)["data"]["class_names"]
    if not names:
        return []
    batches = read_metrics(folder / "metrics.jsonl", "batch")
    evaluations = read_metrics(folder / "metrics.jsonl", "evaluation")
    floors = read_json(folder / "floors.json", FLOORS_REMEDY)
    shares, snapshots = arrivals(folder), read_snapshots(folder)
    held = [record for record in batches if "memory" in record]
    kept = images_in_memory(folder) if held else None
    images = evaluated_images(config, snapshots[-1][2])
    # All files are read before the first picture changes.
    title = f"{config.method} on {config.dataset} {config.stream}, seed {config.seed}"
    drawn = [folder / "curve.png", folder / "stream.png"]
    draw_curve(evaluations, floors, drawn[0], title)
    draw_streams({config.stream: shares}, names, drawn[1])
    if held:
        drawn.append(folder / "memory.png")
        counts = np.array([record["memory"] for record in held])
        positions = [record["position"] for record in held]
        draw_memory(counts, positions, names, drawn[-1], kept)
    drawn.append(folder / "embedding.png")
    draw_embedding(snapshots, names, drawn[-1], config.seed)
    if images is not None and len(snapshots) > 1:
        drawn.append(folder / "neighbours.png")
        (_, before, labels), (_, after, _) = snapshots[0], snapshots[-1]
        draw_neighbours(before, after, images, labels, names, drawn[-1])
    return drawn


def draw_dataset_streams(
    dataset: str,
    path: Path,
    *,
    label: str | None = None,
    samples_per_class: int | None = None,
    class_order: Literal["natural", "seeded"] = "natural",
    seed: int = 0,
) -> None:
    """Draw the paper's five streams of a dataset as one picture."""
    train = load_dataset(dataset, "train", label=label)
    if train.labels is None:
        raise InputError(f"{dataset} has no labels; a stream is drawn by class over time")
    per_class = samples_per_class
    if per_class is None:
        per_class = protocol_for(dataset, train.labels).samples_per_class
    pictures = {}
    for stream in PAPER_STREAMS:
        order = make_order(
            stream,
            train.labels,
            samples_per_class=per_class,
            class_order=class_order,
            seed=seed,
        )
        pictures[stream] = class_over_time(order, train.labels, train.num_classes)
    draw_streams(pictures, train.class_names, path)


def images_in_memory(folder: Path) -> NDArray[np.uint8] | None:
    """Return the images in a run's final memory, oldest first; None without a saved learner."""
    if not (folder / "learner.safetensors").exists():
        return None
    memory = load_learner(folder).memory_
    if not isinstance(memory, Buffer) or memory.images is None:
        return None
    return oldest_first(memory)[0]


def oldest_first(memory: Buffer) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the images in memory and when they arrived."""
    if memory.images is None:
        raise InputError("the memory holds no images yet")
    order = memory.arrivals.argsort()
    return memory.images[order].numpy(), memory.arrivals[order].numpy()


def evaluated_images(config: RunConfig, labels: np.ndarray) -> NDArray[np.uint8] | None:
    """Return the images whose embeddings a run keeps; None when the data is gone or has changed."""
    try:
        evaluator = prepare(config).evaluator
    except ScaleError:
        return None
    if evaluator is None:
        return None
    chosen = kept_for_map(len(evaluator.sets.eval_labels))
    same = np.array_equal(evaluator.sets.eval_labels[chosen], labels)
    return evaluator.sets.eval_images[chosen] if same else None


def arrivals(folder: Path) -> np.ndarray:
    """Return the share of each class over the stream of a run, (moments, classes)."""
    path = folder / "stream.npy"
    shares = read_npy(path)
    if shares.ndim != 2 or shares.dtype.kind != "f":
        raise DamagedFileError(f"{path} is not the picture of a stream; {PICTURES_REMEDY}")
    return shares


def read_snapshots(folder: Path) -> list[tuple[str, Any, Any]]:
    """Return title, features and labels at the start, the middle and the end of a run."""
    paths = sorted((folder / "embeddings").glob("*.npz"))
    chosen = [paths[0], paths[len(paths) // 2], paths[-1]] if len(paths) > 2 else paths
    return [(f"after {int(path.stem):,} images", *_read_features(path)) for path in chosen]


def _read_features(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with open_npz(path) as stored:
        if {"features", "labels"} <= set(stored.names):
            features, labels = stored.read("features"), stored.read("labels")
            fits = features.ndim == 2 and labels.shape == features.shape[:1]
            if fits and features.dtype.kind == "f" and labels.dtype.kind in "iu":
                return features, labels
    raise DamagedFileError(f"{path} does not hold features with labels; {PICTURES_REMEDY}")
