"""The record of a batch: losses, collapse, memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from scale.evaluate import collapsed, effective_rank
from scale.methods import Learner
from scale.runs.metrics import plain
from scale.runs.setting import Setting


def describe_batch(setting: Setting, number: int) -> dict[str, Any]:
    """Return the record of the last batch."""
    learner = setting.learner
    record: dict[str, Any] = {
        "kind": "batch",
        "batch": number,
        "position": setting.stream.cursor,
        **{name: plain(value) for name, value in learner.diagnostics_.items()},
    }
    if learner.features_ is not None:
        record["effective_rank"] = effective_rank(learner.features_)
        record["collapsed"] = collapsed(learner.features_)
    counts = memory_by_class(learner, setting.labels, len(setting.class_names))
    if counts is not None:
        record["memory"] = counts
    return record


def memory_by_class(
    learner: Learner, labels: np.ndarray | None, num_classes: int
) -> list[int] | None:
    """Return the number of images in memory by class; None without a memory or labels."""
    if learner.memory_ is None or labels is None:
        return None
    held = labels[learner.memory_.arrivals.numpy()]
    counts: list[int] = np.bincount(held, minlength=num_classes).tolist()
    return counts
