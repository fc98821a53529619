from __future__ import annotations

from pathlib import Path

import pytest

from scale.cli import main
from tests.methods.learners import fit, make


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small scale-plus that has learned, as a file."""
    path = tmp_path_factory.mktemp("learner") / "small.safetensors"
    fit(make("scale-plus")).save(path)
    return path


@pytest.fixture(scope="session")
def small_run(small_set: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on a small labelled dataset."""
    out = tmp_path_factory.mktemp("runs") / "small"
    quick = ["--encoder", "cnn", "--augmentation", "mnist", "--steps-per-batch", "1"]
    size = ["--clusters", "20", "--evaluations", "1", "--threads", "1", "--no-pictures"]
    assert main(["run", "--out", str(out), "--dataset", str(small_set), *quick, *size]) == 0
    return out
