"""Records as runs leave them: every option and every parameter is recorded."""

from __future__ import annotations

from typing import Any

from scale.methods import METHODS
from scale.runs import RunConfig, default_parameters

FLOORS = {"random": 20.0, "pixels": 30.0, "pca": 40.0}
TIMING = {"wall_seconds": 120.0, "cpu_seconds": 60.0, "peak_memory_mb": 512.4}
CODE = {"digest": "a" * 40, "commit": "b" * 40}


def record(method: str = "er", seed: int = 0, knn: float = 50.0, **changes: Any) -> dict[str, Any]:
    """Return a record of a run.

    `marks` are those of a bench; `params`, `timing`, `floors` and `code` are what they say; other
    changes are options of the run.
    """
    marks, timing = changes.pop("marks", {}), changes.pop("timing", TIMING)
    floors, params = changes.pop("floors", FLOORS), changes.pop("params", {})
    code = changes.pop("code", None)
    run = RunConfig(method=method, seed=seed, **{"dataset": "mnist", **changes}).to_json()
    if method in METHODS:
        params = {**default_parameters(run["dataset"], method), **params}
    measured = {name: {"knn": value, "acc": value / 2} for name, value in floors.items()}
    found = {
        "run": {**run, "params": params},
        "data": {"skipped": [], "class_names": ["a", "b"]},
        "summary": {"knn": knn, "acc": knn / 2, "floors": measured, "timing": timing},
        **marks,
    }
    return found | ({"code": code} if code else {})


def without(found: dict[str, Any], *names: str) -> dict[str, Any]:
    """Return a record that lacks some options or parameters, as older records do."""
    run = {key: value for key, value in found["run"].items() if key not in names}
    params = {key: value for key, value in run["params"].items() if key not in names}
    return {**found, "run": {**run, "params": params}}


def of_variant(
    variant: str, seed: int = 0, experiment: str = "losses", method: str = "scale", **changes: Any
) -> dict[str, Any]:
    """Return a record as a bench leaves it."""
    marks = {"experiment": experiment, "variant": variant, "axes": {}, "job": "0"}
    return record(method, seed, marks=marks, **changes)
