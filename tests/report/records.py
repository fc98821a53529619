"""Records as runs leave them, with what a table needs."""

from __future__ import annotations

from typing import Any


def record(method: str = "er", seed: int = 0, knn: float = 50.0, **changes: Any) -> dict[str, Any]:
    """Return a record of a run; `marks` are those of a bench, other changes the run's options."""
    timing = {"wall_seconds": 120.0, "cpu_seconds": 60.0, "peak_memory_mb": 512.4}
    floors = {"random": {"knn": 20.0}, "pixels": {"knn": 30.0}, "pca": {"knn": 40.0}}
    timing, marks = changes.pop("timing", timing), changes.pop("marks", {})
    usual = {"dataset": "mnist", "stream": "seq", "validation": False, "params": {}}
    return {
        "run": {**usual, "method": method, "seed": seed, **changes},
        "data": {"skipped": []},
        "summary": {"knn": knn, "acc": 10.0, "floors": floors, "timing": timing},
        **marks,
    }


def of_variant(
    variant: str, seed: int = 0, experiment: str = "losses", method: str = "scale", **changes: Any
) -> dict[str, Any]:
    """Return a record as a bench leaves it."""
    marks = {"experiment": experiment, "variant": variant, "axes": {}, "job": "0"}
    return record(method, seed, marks=marks, **changes)
