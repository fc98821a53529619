"""All pictures of one run, from its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scale._errors import InputError, ScaleError
from scale.data import load_dataset
from scale.evaluate import protocol_for
from scale.memory import Memory
from scale.report.curve import draw_curve
from scale.report.embedding import draw_embedding
from scale.report.memory import draw_memory
from scale.report.neighbours import draw_neighbours
from scale.report.stream import draw_streams
from scale.runs import RunConfig, prepare, read_metrics
from scale.runs.learner import load_learner
from scale.runs.measure import kept_for_map
from scale.runs.run_folder import FLOORS_REMEDY, read_json
from scale.streams import class_over_time, make_order

PAPER_STREAMS = ("iid", "seq", "seq-bl", "seq-im", "seq-cc")


def draw_run(folder: Path) -> list[Path]:
    """Draw the accuracy curve, the stream, memory, embedding maps and neighbours of a run.

    Returns
    -------
    list of Path
        The pictures; none for data without labels.
    """
    config = RunConfig.read(folder)
    names: list[str] = json.loads((folder / "config.json").read_text())["data"]["class_names"]
    if not names:
        return []
    batches = read_metrics(folder / "metrics.jsonl", "batch")
    evaluations = read_metrics(folder / "metrics.jsonl", "evaluation")
    floors = read_json(folder / "floors.json", FLOORS_REMEDY)
    title = f"{config.method} on {config.dataset} {config.stream}, seed {config.seed}"
    drawn = [folder / "curve.png", folder / "stream.png"]
    draw_curve(evaluations, floors, drawn[0], title)
    draw_streams({config.stream: _arrivals(folder)}, names, drawn[1])
    held = [record for record in batches if "memory" in record]
    if held:
        drawn.append(folder / "memory.png")
        counts = np.array([record["memory"] for record in held])
        positions = [record["position"] for record in held]
        draw_memory(counts, positions, names, drawn[-1], _images_in_memory(folder))
    drawn.append(folder / "embedding.png")
    snapshots = read_snapshots(folder)
    draw_embedding(snapshots, names, drawn[-1], config.seed)
    images = _evaluated_images(config, snapshots[-1][2])
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
    per_class = samples_per_class or protocol_for(dataset, train.labels).samples_per_class
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


def _images_in_memory(folder: Path) -> NDArray[np.uint8] | None:
    """Return the images in a run's final memory, oldest first; None without a saved learner."""
    if not (folder / "learner.safetensors").is_file():
        return None
    memory = load_learner(folder).memory_
    if not isinstance(memory, Memory) or memory.images is None:
        return None
    images: NDArray[np.uint8] = memory.images[memory.arrivals.argsort()].numpy()
    return images


def _evaluated_images(config: RunConfig, labels: np.ndarray) -> NDArray[np.uint8] | None:
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


def _arrivals(folder: Path) -> np.ndarray:
    shares: np.ndarray = np.load(folder / "stream.npy", allow_pickle=False)
    return shares


def read_snapshots(folder: Path) -> list[tuple[str, Any, Any]]:
    """Return title, features and labels at the start, the middle and the end of a run."""
    paths = sorted((folder / "embeddings").glob("*.npz"))
    chosen = [paths[0], paths[len(paths) // 2], paths[-1]] if len(paths) > 2 else paths
    snapshots = []
    for path in chosen:
        with np.load(path, allow_pickle=False) as stored:
            title = f"after {int(path.stem):,} images"
            snapshots.append((title, stored["features"], stored["labels"]))
    return snapshots
