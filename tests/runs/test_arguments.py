"""Options of a run that cannot work are refused before any work, with the allowed range."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scale._errors import InputError
from scale.data import ImageSet
from scale.runs import RunConfig, run
from scale.runs.room import refuse_too_large
from scale.runs.setting import prepare
from scale.streams import Stream
from tests.runs.conftest import Command

PARAMS = {"encoder": "cnn", "augmentation": "mnist", "steps_per_batch": 1}


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("evaluations", 10**9, "from 1 to 1000000"),
        ("evaluations", 0, "from 1"),
        ("evaluations", 2.5, "a whole number"),
        ("evaluations", "3", "a whole number"),
        ("samples_per_class", 0, "from 1"),
        ("threads", 0, "from 1 to 1024"),
        ("threads", 100_000, "from 1 to 1024"),
        ("bank_size", -1, "from 1"),
        ("stream_batch", 10**12, "from 1"),
        ("seed", -1, "from 0"),
        ("seed", 2**32, "from 0 to 4294967295"),
        ("seed", True, "a whole number"),
        ("image_size", 0, "from 1"),
        ("image_size", 10**6, "from 1 to 8192"),
        ("dataset", None, "text"),
        ("on_bad", "ignore", "'stop' or 'skip'"),
        ("class_order", "any", "'natural' or 'seeded'"),
        ("params", [1], "a table"),
    ],
)
def test_a_value_out_of_range_is_refused_with_the_range(
    name: str, value: Any, allowed: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=f"^{name} must be {allowed}"):
        run(RunConfig(**{name: value}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1, "often"])
def test_seconds_between_checkpoints_are_a_number_of_zero_or_more(
    seconds: Any, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"^checkpoint_seconds must be"):
        run(RunConfig(), tmp_path / "run", checkpoint_seconds=seconds)
    assert not (tmp_path / "run").exists()


def test_numbers_of_numpy_are_taken(small_set: Path) -> None:
    config = RunConfig(dataset=str(small_set), seed=np.int64(3), stream_batch=np.int32(20))  # type: ignore[arg-type]
    config.check()
    assert type(config.to_json()["seed"]) is int


def test_splits_of_different_sizes_are_told_when_they_are_loaded(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (4, 20, 20), dtype=np.uint8)
    np.savez(
        tmp_path / "data.npz",
        x_train=pixels[:, :16, :16],
        y_train=[0, 0, 1, 1],
        x_test=pixels,
        y_test=[0, 0, 1, 1],
    )
    with pytest.raises(
        InputError, match=r"train images .* 1 x 16 x 16 and its test images 1 x 20 x 20; .*size 16"
    ):
        prepare(RunConfig(dataset=str(tmp_path / "data.npz")))


@pytest.fixture
def few(tmp_path: Path) -> RunConfig:
    """A run of simclr over four small images without labels."""
    np.save(tmp_path / "images.npy", np.zeros((4, 64, 64), np.uint8))
    return RunConfig(
        dataset=str(tmp_path / "images.npy"), stream="as-is", method="simclr", params=dict(PARAMS)
    )


def test_a_tensor_that_the_machine_cannot_hold_is_refused(few: RunConfig, tmp_path: Path) -> None:
    few.params["projection_dim"] = 2 * 10**9
    with pytest.raises(InputError, match=r"projection_dim = \d+ needs at least .* of memory"):
        run(few, tmp_path / "run")
    assert not (tmp_path / "run" / "config.json").exists()


def test_a_batch_that_the_machine_cannot_hold_is_refused(few: RunConfig) -> None:
    setting = prepare(few)
    one = np.zeros((1, 1, 512, 512), np.uint8)
    many = np.broadcast_to(one, (200_000, 1, 512, 512))  # without their memory
    setting.stream = Stream(many, batch_size=200_000)
    with pytest.raises(InputError, match=r"needs at least .* and this .* GB.*image-size"):
        refuse_too_large(setting)


def test_floors_that_the_machine_cannot_hold_are_refused(few: RunConfig) -> None:
    one = np.zeros((1, 3, 8192, 8192), np.uint8)
    many = np.broadcast_to(one, (10_000, *one.shape[1:]))  # without their memory
    images = ImageSet(many, np.arange(10_000) % 2, ("a", "b"), "many", "an array")
    with pytest.raises(InputError, match=r"the evaluation .* needs at least .*--bank-size"):
        prepare(few, splits=(images, None, "no test split"))


def test_no_pictures_is_remembered(command: Command, unbroken: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(unbroken, tmp_path / "run"))
    assert command.finish(["run", "--out", str(out), "--resume"]).status == 0
    assert not list(out.glob("*.png"))
    assert command.finish(["run", "--out", str(out), "--resume", "--pictures"]).status == 0
    assert list(out.glob("*.png"))
