"""`scale evaluate`: it says when the data is not that of the run."""

import json
from pathlib import Path

import numpy as np
import pytest

from scale.cli import main


@pytest.fixture
def data(small_set: Path, tmp_path: Path) -> Path:
    """A copy of the data that a test may change."""
    path = tmp_path / "data.npz"
    path.write_bytes(small_set.read_bytes())
    return path


def change(path: Path, name: str, value: np.ndarray) -> None:
    with np.load(path) as found:
        arrays = {**found, name: value}
    np.savez(path, **arrays)


def test_changed_data_is_told_and_kept_in_the_record(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, kept = str(tmp_path / "run"), tmp_path / "kept.jsonl"
    quick = ["--method", "pixels", "--stream-batch", "60", "--evaluations", "1", "--no-pictures"]
    assert main(["run", "--dataset", str(data), "--out", run, *quick]) == 0
    with np.load(data) as found:
        test, train = found["x_test"], found["x_train"]
    wanted = {
        "the same data": None,
        "other test images": "the images of the evaluation are others",
        "other train images": "the images have other pixels",
    }
    capsys.readouterr()
    for what, told in wanted.items():
        if what == "other test images":
            change(data, "x_test", test[::-1].copy())
        elif told:
            change(data, "x_train", train // 2)
        bank = ["--bank-size", "30"] if what == "other train images" else []
        assert main(["evaluate", run, *bank, "--to", str(kept)]) == 0
        text = " ".join(capsys.readouterr().out.split())
        record = json.loads(kept.read_text().splitlines()[-1])
        if told is None:
            assert "warning" not in text
            assert "warnings" not in record
        else:
            assert f"has changed since the run began: {told}" in text
            assert told in record["warnings"][0]
