"""The record of a batch: losses, collapse, memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from scale.evaluate import collapsed, effective_rank
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
    if learner.memory_ is not None and setting.labels is not None:
        arrivals = learner.memory_.arrivals.numpy() - setting.seen_before
        held = setting.labels[arrivals[arrivals >= 0]]
        record["memory"] = np.bincount(held, minlength=len(setting.class_names)).tolist()
        if setting.seen_before:  # images of earlier streams have no class here
            record["memory_before"] = int((arrivals < 0).sum())
    return record
