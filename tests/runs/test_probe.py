"""What a run says about its cost, and that saying it changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from scale.runs import RunConfig, complete, prepare, run
from scale.runs import probe as probe_module
from scale.runs.probe import announce, measure_cost
from tests.runs.conftest import Lines, make_photos

PARAMS = {"encoder": "cnn", "augmentation": "mnist", "steps_per_batch": 4, "memory_batch": 10}


def config(dataset: Path, **changes: Any) -> RunConfig:
    settings = {"method": "er", "stream_batch": 10, "evaluations": 1, "params": dict(PARAMS)}
    return RunConfig(dataset=str(dataset), **{**settings, **changes})


@pytest.fixture
def every_run_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_module, "WORTH_TELLING", 0.0)


@pytest.mark.usefixtures("every_run_is_long")
def test_the_cost_is_told_once_and_changes_no_number(small_set: Path, tmp_path: Path) -> None:
    told = Lines()
    run(config(small_set), tmp_path / "told", display=told, tell_cost=True)
    run(config(small_set), tmp_path / "quiet", display=Lines())
    (line,) = told.find("core")
    assert line.startswith("about ")
    for name in ("metrics.jsonl", "learner.safetensors", "floors.json"):
        one, other = ((tmp_path / out / name).read_bytes() for out in ("told", "quiet"))
        assert one == other, name


def test_a_short_run_is_not_announced(small_set: Path) -> None:
    settings = complete(config(small_set))
    assert announce(settings, prepare(settings)) is None


@pytest.mark.usefixtures("every_run_is_long")
def test_smaller_images_are_offered_when_they_halve_the_time(tmp_path: Path) -> None:
    np.save(tmp_path / "large.npy", np.zeros((40, 128, 128), np.uint8))
    settings = complete(config(tmp_path / "large.npy", stream="as-is"))
    said = announce(settings, prepare(settings))
    assert said is not None
    assert "; --image-size 32: about " in said


@pytest.mark.usefixtures("every_run_is_long")
def test_a_run_that_fails_says_so_itself(small_set: Path) -> None:
    settings = complete(config(small_set, params={**PARAMS, "lr": 1e30}))
    assert announce(settings, prepare(settings)) is None


@pytest.mark.parametrize("method", ["pixels", "scale-plus"])
def test_methods_with_and_without_updates_can_be_measured(method: str, small_set: Path) -> None:
    params = {} if method == "pixels" else {"encoder": "cnn", "steps_per_batch": 1}
    settings = complete(config(small_set, method=method, params=params))
    cost = measure_cost(settings, prepare(settings), remembered=20)
    assert (cost.update > 0) == ("steps_per_batch" in settings.params)
    assert cost.learning(10, 2) == pytest.approx(10 * (cost.batch + 2 * cost.update))
    assert cost.learner.describe()["image_shape"] is not None, "evaluations are timed with it"


def photos(folder: Path, side: int) -> Path:
    for name in ("cat", "dog"):
        (folder / name).mkdir(parents=True)
        for i in range(12):
            pixels = np.full((side, side + 10, 3), 10 * i, np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{i}.png")
    return folder


def test_large_images_of_ones_own_folder_are_resized_and_it_is_said(tmp_path: Path) -> None:
    data = photos(tmp_path / "photos", 100)
    (data / "cat" / "000 broken.png").write_bytes(b"no image")
    told, settings = Lines(), config(data, on_bad="skip")
    run(settings, tmp_path / "run", display=told)
    assert len(told.find("images are resized to 64 pixels a side (--image-size)")) == 1
    assert prepare(complete(settings)).stream.images.shape[2:] == (64, 64)
    assert run(settings, tmp_path / "run", resume=True)["images"] == 20
    assert complete(config(data, image_size=80)).image_size == 80


def test_small_images_and_named_datasets_keep_their_size(tmp_path: Path) -> None:
    assert complete(config(make_photos(tmp_path / "photos", {"cat": 2}))).image_size is None
    for name in ("cifar10", "tinyimagenet10", "no-such-data"):
        assert complete(config(Path(name))).image_size is None


def test_data_of_ones_own_has_fewer_updates_than_the_protocols(tmp_path: Path) -> None:
    steps = {
        name: complete(RunConfig(dataset=name)).params["steps_per_batch"]
        for name in (str(tmp_path), "cifar10", "digits")
    }
    assert steps == {str(tmp_path): 5, "cifar10": 20, "digits": 10}
