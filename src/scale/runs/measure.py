"""Evaluations along the stream, the floors, and the summary at the end."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from scale._errors import InputError
from scale._files import atomic_path, write_atomic
from scale.evaluate import (
    Evaluator,
    average,
    drop,
    floor_transforms,
    forgetting,
    guard,
    learned_at,
)
from scale.evaluate.evaluator import Transform
from scale.methods import METHODS, ContrastiveLearner, Learner
from scale.methods.core.encoders import WithEncoder
from scale.runs.config import RunConfig, read_config
from scale.runs.display import Display
from scale.runs.learner import load_learner
from scale.runs.metrics import MetricsFile
from scale.runs.parameters import parameters
from scale.runs.run_folder import FLOORS_REMEDY, read_json
from scale.runs.same_data import data_change
from scale.runs.setting import Setting, load_splits, make_learner, prepare, stored_protocol

LEAST = 1e-12  # length of a feature vector that is divided by
MAP_POINTS = 1000  # evaluation images whose features are kept for the embedding map


def measure(setting: Setting, out: Path, metrics: MetricsFile, *, full: bool) -> dict[str, Any]:
    """Evaluate the learner; record and return the measures; save features for the embedding map.

    The guard, which needs no labels, also compares a learner with its start.

    Parameters
    ----------
    full
        Also measure kNN with the whole train split as bank; this is slow.
    """
    position = setting.stream.cursor
    record: dict[str, Any] = {"kind": "evaluation", "position": position}
    evaluator = setting.evaluator
    if evaluator is not None:
        transform = setting.learner.transform
        queries, bank = evaluator.features(transform)
        record.update(evaluator.measure(queries, bank))
        if full:
            record["knn_full"] = evaluator.knn_full(transform, queries)
        path = out / "embeddings" / f"{position:010d}.npz"
        _keep_features(queries, evaluator.sets.eval_labels, path)
    estimate = guard(setting.learner)
    if estimate is not None:
        record["guard"] = estimate.to_json()
    metrics.append(record)
    return record


def measure_floors(
    config: RunConfig,
    setting: Setting,
    out: Path,
    metrics: MetricsFile,
    display: Display,
    between: Callable[[], None] = lambda: None,
) -> dict[str, dict[str, Any]]:
    """Evaluate the floors once per run; return their measures.

    They are `pixels`, `pca` and `random`, or `frozen` for a learner with pretrained weights.

    Parameters
    ----------
    between
        Called after each floor; it may raise to stop.
    """
    path = out / "floors.json"
    evaluator = setting.evaluator
    if evaluator is None:
        return {}
    if setting.stream.cursor > 0 and path.is_file():
        return read_json(path, FLOORS_REMEDY)
    display.message("measuring what features that learn nothing reach")
    learner = setting.learner
    random = None
    if setting.stream.cursor == 0:
        # The learner at the start is the first point of the curve. If it is untrained and has an
        # encoder without pretrained weights, it is also the floor `random`.
        untrained = config.start_from is None and _start_name(learner) == "random"
        untrained = untrained and _has_encoder(learner)
        start = measure(setting, out, metrics, full=untrained)
        between()
        if config.start_from is not None:
            display.evaluation(start)
        if untrained:
            random = {k: v for k, v in start.items() if k not in ("kind", "position")}
    if random is None:
        random = evaluator(_start(config, learner), full=True)
        between()
    floors = {_start_name(learner): random, **_without_learning(learner, evaluator, between)}
    write_atomic(path, json.dumps(floors, indent=1) + "\n")
    display.floors(floors)
    return floors


def measure_again(
    folder: Path, bank_size: int | None, warn: Callable[[str], None] = warnings.warn
) -> dict[str, dict[str, Any]]:
    """Return the measures of a run's learner and of the floors with a bank of another size.

    `warn` is called with a message for each damaged checkpoint, and if the data has changed since
    the run began: the measures are those of the data that is there now.
    """
    kept = RunConfig.read(folder)
    config = replace(kept, bank_size=bank_size)
    config.check()
    splits = load_splits(config)
    evaluator = prepare(config, splits=splits).evaluator
    if evaluator is None:
        raise InputError(f"the run in {folder} has no labels; the evaluation needs labelled data")
    begun = read_config(folder)
    now = prepare(kept, protocol=stored_protocol(begun), splits=splits).facts()
    if (change := data_change(begun.get("data", {}), now)) is not None:
        warn(
            f"the data in {config.dataset} has changed since the run began: {change}; these "
            "measures are of the data that is there now"
        )
    learner = load_learner(folder, warn)
    measures = {_start_name(learner): evaluator(_start(config, learner), full=True)}
    measures.update(_without_learning(learner, evaluator))
    measures.pop(config.method, None)  # if the method is a floor, list it only as the learner
    measures[config.method] = evaluator(learner.transform, full=True)
    return measures


def _without_learning(
    learner: Learner, evaluator: Evaluator, between: Callable[[], None] = lambda: None
) -> dict[str, dict[str, Any]]:
    transforms = floor_transforms(evaluator.sets.bank_images, learner.image_side, evaluator.seed)
    measures = {}
    for name, transform in transforms.items():
        measures[name] = evaluator(transform, full=True)
        between()
    return measures


def _has_encoder(learner: Learner) -> bool:
    return "encoder" in learner.get_params()


def _start_name(learner: Learner) -> str:
    """Return the floor that a learner's encoder starts from."""
    pretrained = isinstance(learner, WithEncoder) and learner.pretrained_
    return "frozen" if pretrained else "random"


def _start(config: RunConfig, learner: Learner) -> Transform:
    """Return the transform of the start; its weights are in the learner, if they are pretrained."""
    if _start_name(learner) == "random":
        return _untrained(config, learner).transform
    if not isinstance(learner, ContrastiveLearner):
        return learner.transform

    def frozen(images: np.ndarray) -> np.ndarray:
        h = learner.encode_by_start(images)
        unit: np.ndarray = h / np.maximum(np.linalg.norm(h, axis=1, keepdims=True), LEAST)
        return unit

    return frozen


def _untrained(config: RunConfig, learner: Learner) -> Learner:
    """Return the learner before its first batch; without an encoder, the method `random`."""
    if _has_encoder(learner):
        return make_learner(config)
    given = {"image_side": learner.image_side, "device": learner.device}
    return METHODS["random"](**parameters("random", config.dataset, given=given), seed=config.seed)


def summarise(
    config: RunConfig, setting: Setting, metrics: MetricsFile, floors: dict[str, Any]
) -> dict[str, Any]:
    """Return the final measures of a run, measures over its stream, and the floors.

    `forgetting` and `drop` count the untrained encoder as the first evaluation. `forgetting_seen`
    counts a class once half of its images have passed. `average` leaves out the start.
    """
    evaluations = metrics.records("evaluation")
    batches = metrics.records("batch")
    summary: dict[str, Any] = {
        "dataset": config.dataset,
        "stream": config.stream,
        "method": config.method,
        "seed": config.seed,
        "images": setting.stream.num_samples,
        "batches": len(setting.stream),
        "collapsed": bool(batches and batches[-1].get("collapsed", False)),
    }
    if batches and "held_back" in batches[-1]:
        summary["held_back"] = bool(batches[-1]["held_back"])
    if evaluations and "guard" in evaluations[-1]:
        summary["guard"] = evaluations[-1]["guard"]
    if evaluations and "knn" in evaluations[-1]:
        last = evaluations[-1]
        summary.update({k: v for k, v in last.items() if k not in ("kind", "position")})
        per_class = np.array([e["knn_per_class"] for e in evaluations])
        knn = [e["knn"] for e in evaluations]
        positions = [e["position"] for e in evaluations]
        summary["forgetting"] = forgetting(per_class)
        if setting.labels is not None and setting.evaluator is not None:
            since = learned_at(setting.labels, positions, setting.evaluator.sets.classes)
            summary["forgetting_seen"] = forgetting(per_class, since)
        summary["drop"] = drop(knn)
        summary["average"] = average(knn, positions)
        summary["floors"] = floors
    return summary


def kept_for_map(count: int) -> np.ndarray:
    """Return which of `count` evaluation images have their features kept for the map."""
    return np.unique(np.linspace(0, count - 1, MAP_POINTS).astype(int))


def _keep_features(features: np.ndarray, labels: np.ndarray, path: Path) -> None:
    chosen = kept_for_map(len(labels))
    with atomic_path(path) as part, open(part, "wb") as file:
        np.savez(file, features=features[chosen], labels=labels[chosen])
