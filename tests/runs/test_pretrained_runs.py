"""Runs that start from pretrained weights."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from scale._errors import InputError
from scale.models import ENCODERS, default_rng
from scale.runs import Display, RunConfig, run
from scale.runs.interrupt import RunInterrupted
from scale.runs.measure import measure_again


def write_weights(path: Path, seed: int) -> None:
    with default_rng(torch.Generator().manual_seed(seed)):
        save_file(ENCODERS["cnn"]((3, 32, 32)).state_dict(), path)


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    write_weights(tmp_path / "w.safetensors", 0)
    facts = {"mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.4]}
    (tmp_path / "w.json").write_text(json.dumps(facts))
    return tmp_path / "w.safetensors"


def config(weights: Path, small_set: Path, method: str = "er") -> RunConfig:
    params = {"encoder": f"cnn@{weights}", "encoder_side": 32}
    if method == "er":
        params |= {"steps_per_batch": 1, "memory_batch": 8, "augmentation": "mnist"}
    return RunConfig(
        dataset=str(small_set), method=method, stream_batch=40, evaluations=1, params=params
    )


class Stop(Display):
    """Sends SIGINT to this process at the start of the stream, or after its first batch."""

    def __init__(self, at_start: bool) -> None:
        self.at_start = at_start

    def start(self, config, setting):
        if self.at_start:
            os.kill(os.getpid(), signal.SIGINT)

    def batch(self, record):
        if not self.at_start and record["position"] == 40:
            os.kill(os.getpid(), signal.SIGINT)


def test_a_run_has_the_floor_frozen_and_loads_without_the_weights(weights, small_set, tmp_path):
    out = tmp_path / "run"
    summary = run(config(weights, small_set), out)
    assert {"frozen", "pixels", "pca"} == set(summary["floors"])
    described = json.loads((out / "config.json").read_text())["learner"]
    assert described["weights"]["network"] == "cnn"
    weights.unlink()
    again = measure_again(out, None)
    assert again["frozen"]["knn"] == pytest.approx(summary["floors"]["frozen"]["knn"])


def test_frozen_as_a_method_is_its_own_floor(weights, small_set, tmp_path):
    summary = run(config(weights, small_set, "frozen"), tmp_path / "run")
    assert summary["knn"] == summary["floors"]["frozen"]["knn"]


@pytest.mark.usefixtures("default_signals")
def test_a_stopped_run_goes_on_without_the_weights(weights, small_set, tmp_path):
    whole = run(config(weights, small_set), tmp_path / "whole")
    with pytest.raises(RunInterrupted):
        run(config(weights, small_set), tmp_path / "run", display=Stop(at_start=False))
    weights.unlink()
    resumed = run(config(weights, small_set), tmp_path / "run", resume=True)
    assert resumed["knn"] == whole["knn"]
    assert resumed["guard"] == whole["guard"]


@pytest.mark.usefixtures("default_signals")
def test_weights_that_changed_before_the_first_checkpoint_are_refused(weights, small_set, tmp_path):
    out = tmp_path / "run"
    with pytest.raises(RunInterrupted):
        run(config(weights, small_set), out, display=Stop(at_start=True))
    for path in (out / "checkpoints").glob("*"):
        path.unlink()
    write_weights(weights, 1)
    with pytest.raises(InputError, match="changed since the run began"):
        run(config(weights, small_set), out, resume=True)
