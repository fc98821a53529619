from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scale.data import DatasetStatus, list_datasets


def status(name: str) -> DatasetStatus:
    return next(one for one in list_datasets() if one.name == name)


@pytest.fixture
def tiny(tmp_path: Path, write_parquet: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    images = [np.zeros((4, 4, 3), np.uint8)] * 15
    path: Path = write_parquet(
        tmp_path / "zh-plus/tiny-imagenet/data/train-0.parquet", images, {"label": list(range(15))}
    )
    monkeypatch.setenv("SCALE_DATA", str(tmp_path))
    return path


def test_a_present_dataset_has_the_counts_that_load(tiny: Path) -> None:
    here = status("tinyimagenet10")
    assert here.present
    assert here.splits == {"train": 10}
    assert here.size == tiny.stat().st_size
    assert here.where == str(tiny.parents[1])


def test_a_missing_dataset_says_how_to_get_it(tiny: Path) -> None:
    missing = status("cifar10")
    assert not missing.present
    assert missing.where == "not here: scale data get cifar10"


def test_a_damaged_file_does_not_stop_the_list(tiny: Path) -> None:
    tiny.write_bytes(b"damaged")
    damaged = status("tinyimagenet10")
    assert not damaged.present
    assert "damaged" in damaged.where


def test_built_in_datasets_are_always_present() -> None:
    assert status("digits").where == "built in"
