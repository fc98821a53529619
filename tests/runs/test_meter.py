"""What a run spent is counted over all the processes that worked on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scale._tensors import read_tensors, write_tensors
from scale.runs import RunConfig, run


def finish_again(out: Path, spent: dict[str, Any]) -> dict[str, float]:
    """Go on from the last checkpoint as if earlier processes had spent this; return the timing."""
    (out / "summary.json").unlink()
    for path in (out / "checkpoints").glob("*.safetensors"):
        state, meta = read_tensors(path)
        meta.pop("spent")
        write_tensors(path, state, {**meta, **spent})
    timing: dict[str, float] = run(RunConfig.read(out), out, resume=True)["timing"]
    return timing


@pytest.fixture
def finished(small_set: Path, tmp_path: Path) -> Path:
    params = {"encoder": "cnn", "augmentation": "mnist", "steps_per_batch": 1, "clusters": 8}
    config = RunConfig(dataset=str(small_set), stream_batch=60, evaluations=1, params=params)
    run(config, tmp_path / "run", checkpoint_seconds=0)
    return tmp_path / "run"


def test_a_run_records_wall_time_cpu_time_and_peak_memory(finished: Path) -> None:
    timing = json.loads((finished / "summary.json").read_text())["timing"]
    assert timing["wall_seconds"] > 0
    assert timing["cpu_seconds"] > 0
    assert timing["peak_memory_mb"] > 10
    assert timing["images_per_second"] == pytest.approx(120 / timing["wall_seconds"])


def test_a_resumed_run_adds_to_what_was_spent_before(finished: Path) -> None:
    before = {"wall_seconds": 2000.0, "cpu_seconds": 1000.0, "peak_memory_mb": 1e6}
    timing = finish_again(finished, {"spent": before})
    assert 2000 < timing["wall_seconds"] < 3000
    assert 1000 < timing["cpu_seconds"] < 2000
    assert timing["peak_memory_mb"] == 1e6


def test_what_an_older_checkpoint_did_not_measure_is_not_claimed(finished: Path) -> None:
    timing = finish_again(finished, {"elapsed_seconds": 500.0})
    assert timing["wall_seconds"] > 500
    assert "cpu_seconds" not in timing
    assert "peak_memory_mb" not in timing
