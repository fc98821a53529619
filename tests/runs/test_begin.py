"""What a run says and refuses before its first batch, when it begins and when it goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from scale._errors import InputError, ScaleError
from scale._tensors import read_tensors, write_tensors
from scale.runs import RunConfig, read_metrics, run
from scale.runs.setting import prepare
from tests.runs.conftest import Lines, StopAt, make_photos

PARAMS = {"encoder": "cnn", "augmentation": "mnist", "steps_per_batch": 1}


def config(dataset: Path, **changes: Any) -> RunConfig:
    settings = {"method": "simclr", "stream_batch": 20, "evaluations": 1, "params": dict(PARAMS)}
    return RunConfig(dataset=str(dataset), **{**settings, **changes})


def stop(settings: RunConfig, out: Path) -> None:
    """Leave a run with one checkpoint behind."""
    with pytest.raises(KeyboardInterrupt):
        run(settings, out, checkpoint_seconds=0, display=StopAt(2))


def described(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "config.json").read_text())
    return found


def describe(out: Path, content: dict[str, Any]) -> None:
    (out / "config.json").write_text(json.dumps(content))


def make_older(out: Path, content: dict[str, Any]) -> None:
    """Write the config of an older version, whose checkpoints keep nothing of it."""
    describe(out, content)
    for path in (out / "checkpoints").iterdir():
        state, meta = read_tensors(path)
        write_tensors(path, state, {k: v for k, v in meta.items() if k != "begun"})


def change_small_set(small_set: Path, path: Path, **changes: Any) -> Path:
    """Write the small set with some of its arrays changed; None leaves one out."""
    with np.load(small_set) as stored:
        arrays = {**stored, **changes}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


def arrays_of(small_set: Path) -> dict[str, np.ndarray]:
    with np.load(small_set) as stored:
        return dict(stored)


def test_more_images_than_when_it_began_are_refused_by_their_number(tmp_path: Path) -> None:
    photos = make_photos(tmp_path / "photos", {"cat": 20, "dog": 20})
    stop(config(photos), tmp_path / "run")
    make_photos(photos, {"dog": 25})
    with pytest.raises(
        InputError, match=r"changed since .*: 40 images then, 45 images now; .*--out"
    ):
        run(config(photos), tmp_path / "run", resume=True)


def changed_arrays(arrays: dict[str, np.ndarray]) -> dict[str, dict[str, np.ndarray]]:
    pixels, labels, test = arrays["x_train"].copy(), arrays["y_train"].copy(), arrays["x_test"] // 2
    pixels[7] = 255 - pixels[7]
    first, last = 0, len(labels) - 1
    labels[[first, last]] = labels[[last, first]]
    return {
        "other pixels": {"x_train": pixels},
        "other labels": {"y_train": labels},
        "of the evaluation": {"x_test": test},
        "1 x 8 x 8": {"x_train": pixels[:, ::2, ::2], "x_test": test[:, ::2, ::2]},
        "classes": {"y_train": np.minimum(labels, 1), "y_test": np.minimum(arrays["y_test"], 1)},
    }


def test_other_data_under_the_same_name_is_refused(small_set: Path, tmp_path: Path) -> None:
    data = change_small_set(small_set, tmp_path / "data.npz")
    settings = config(data, stream="as-is")
    stop(settings, tmp_path / "run")
    for what, changes in changed_arrays(arrays_of(small_set)).items():
        change_small_set(small_set, data, **changes)
        with pytest.raises(InputError, match=f"changed since the run began: .*{what}"):
            run(settings, tmp_path / "run", resume=True)


def test_a_run_of_an_older_version_without_digests_goes_on(small_set: Path, tmp_path: Path) -> None:
    run(config(small_set), tmp_path / "whole")
    stop(config(small_set), tmp_path / "run")
    older = described(tmp_path / "run")
    for name in ("digests", "available"):
        del older["data"][name]
    make_older(tmp_path / "run", older)
    run(config(small_set), tmp_path / "run", resume=True)
    one, other = (tmp_path / name / "metrics.jsonl" for name in ("run", "whole"))
    assert one.read_bytes() == other.read_bytes()


def test_a_run_goes_on_with_the_protocol_that_it_began_with(tmp_path: Path) -> None:
    """Older versions cut the classes of a user's own data to the size of the smallest."""
    photos = make_photos(tmp_path / "photos", {"cat": 30, "dog": 10})
    equal = prepare(config(photos, samples_per_class=8)).stream.num_samples
    stop(config(photos, samples_per_class=8, stream_batch=5), tmp_path / "run")
    older = described(tmp_path / "run")
    older["run"]["samples_per_class"], older["protocol"]["samples_per_class"] = None, 8
    make_older(tmp_path / "run", older)
    again = run(config(photos, stream_batch=5), tmp_path / "run", resume=True)
    assert again["images"] == equal


def test_all_images_of_classes_of_any_size_are_streamed(tmp_path: Path) -> None:
    photos = make_photos(tmp_path / "photos", {"cat": 40, "dog": 10, "emu": 5})
    setting = prepare(config(photos))
    assert setting.evaluator is not None
    held = len(setting.evaluator.sets.eval_labels)
    assert setting.stream.num_samples == 55 - held
    assert not [note for note in setting.notes if "left out" in note]


@pytest.mark.parametrize("name", ["digits", "digits8"])
def test_the_built_in_digits_keep_as_many_of_each_class(name: str) -> None:
    setting = prepare(RunConfig(dataset=name))
    per_class = setting.facts()["per_class"]
    assert len(set(per_class)) == 1
    (line,) = setting.notes
    assert f"at most {per_class[0]} of each class" in line


def test_what_is_left_out_of_the_stream_is_said_in_one_line(
    small_set: Path, tmp_path: Path
) -> None:
    told = Lines()
    run(config(small_set, samples_per_class=15), tmp_path / "run", display=told)
    (line,) = told.find("left out")
    assert "75 of 120" in line
    assert "15 of each class" in line


def test_skipped_files_are_named_five_at_most_and_counted(tmp_path: Path) -> None:
    photos = make_photos(tmp_path / "photos", {"cat": 12, "dog": 12})
    for i in range(7):
        (photos / "dog" / f"broken{i}.png").write_bytes(b"no image")
    told = Lines()
    run(config(photos, on_bad="skip"), tmp_path / "run", display=told)
    (line,) = told.find("files skipped")
    assert line.endswith(": 7")
    assert len(told.find("broken")) == 5
    assert len(told.find("and 2 more")) == 1


def test_skipped_files_of_the_test_split_are_named_too(tmp_path: Path) -> None:
    for split in ("train", "test"):
        make_photos(tmp_path / "photos" / split, {"cat": 12, "dog": 12}, seed=len(split))
    (tmp_path / "photos" / "test" / "cat" / "broken.png").write_bytes(b"no image")
    setting = prepare(config(tmp_path / "photos", on_bad="skip"))
    assert [Path(name).name for name in setting.skipped] == ["broken.png"]


def test_a_test_split_without_labels_is_like_none(small_set: Path, tmp_path: Path) -> None:
    blind = change_small_set(small_set, tmp_path / "blind.npz", y_test=None)
    none = change_small_set(small_set, tmp_path / "none.npz", y_test=None, x_test=None)
    counts = []
    for data, why in ((blind, "has no labels"), (none, "has no test split")):
        told = Lines()
        run(config(data), tmp_path / data.stem, display=told)
        (line,) = told.find("held out")
        assert why in line
        counts.append(described(tmp_path / data.stem)["data"]["evaluation"])
    assert counts[0] == counts[1]


def test_a_wrong_parameter_leaves_the_folder_free_for_the_right_one(
    small_set: Path, tmp_path: Path
) -> None:
    for name, value in {
        "encoder": "foo",
        "augmentation": "foo",
        "device": "abacus",
        "tau": -1.0,
    }.items():
        with pytest.raises(ScaleError, match=str(value)):
            run(config(small_set, params={**PARAMS, name: value}), tmp_path / "run")
        assert not (tmp_path / "run" / "config.json").exists()
    run(config(small_set), tmp_path / "run")


def test_going_on_with_another_parameter_names_that_parameter(
    small_set: Path, tmp_path: Path
) -> None:
    stop(config(small_set), tmp_path / "run")
    other = config(small_set, params={**PARAMS, "steps_per_batch": 3})
    with pytest.raises(InputError, match="with steps_per_batch = 1, not 3;") as refused:
        run(other, tmp_path / "run", resume=True)
    assert "{" not in str(refused.value)


def test_parameters_left_out_are_those_of_the_defaults(small_set: Path, tmp_path: Path) -> None:
    stop(config(small_set), tmp_path / "run")
    full = prepare(config(small_set)).learner.get_params()
    del full["seed"]
    assert run(config(small_set, params=full), tmp_path / "run", resume=True)["images"] == 120


@pytest.fixture
def threads() -> Any:
    """Bring the threads of torch and of BLAS back to what they were."""
    before = torch.get_num_threads()
    with threadpool_limits(None):
        yield
    torch.set_num_threads(before)


def blas_threads() -> set[int]:
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


@pytest.mark.usefixtures("threads")
def test_a_run_goes_on_with_as_many_threads_as_it_began_with(
    small_set: Path, tmp_path: Path
) -> None:
    torch.set_num_threads(2)
    stop(config(small_set), tmp_path / "run")
    torch.set_num_threads(1)
    told = StopAt(4)
    with pytest.raises(KeyboardInterrupt):
        run(config(small_set), tmp_path / "run", resume=True, display=told)
    assert torch.get_num_threads() == 2
    assert blas_threads() == {2}, "the evaluation's too"
    assert not told.find("threads")


@pytest.mark.usefixtures("threads")
def test_another_number_of_threads_is_taken_and_told(small_set: Path, tmp_path: Path) -> None:
    stop(config(small_set, threads=2), tmp_path / "run")
    told = Lines()
    run(config(small_set, threads=1), tmp_path / "run", resume=True, display=told)
    assert torch.get_num_threads() == 1
    assert blas_threads() == {1}
    assert len(told.find("2 threads and goes on with 1")) == 1


def test_other_versions_are_told_in_one_line(small_set: Path, tmp_path: Path) -> None:
    stop(config(small_set), tmp_path / "run")
    older = described(tmp_path / "run")
    older["versions"].update({"torch": "1.0", "numpy": "1.1"})
    describe(tmp_path / "run", older)
    told = Lines()
    run(config(small_set), tmp_path / "run", resume=True, display=told)
    (line,) = told.find("versions changed")
    assert "torch 1.0 then" in line
    assert "numpy 1.1 then" in line
    assert "pillow" not in line


def test_resuming_what_has_not_begun_starts_it(small_set: Path, tmp_path: Path) -> None:
    run(config(small_set), tmp_path / "new", resume=True)
    assert len(read_metrics(tmp_path / "new" / "metrics.jsonl", "batch")) == 6


def test_checkpoints_without_a_config_are_not_taken_for_a_run(
    small_set: Path, tmp_path: Path
) -> None:
    stop(config(small_set), tmp_path / "run")
    (tmp_path / "run" / "config.json").unlink()
    with pytest.raises(InputError, match="holds no run"):
        run(config(small_set), tmp_path / "run", resume=True)


def test_a_run_does_not_begin_in_the_folder_of_a_live_learner(tmp_path):
    out = tmp_path / "live"
    out.mkdir()
    (out / "watch.json").write_text("{}")
    with pytest.raises(InputError, match="holds a live learner; choose another --out"):
        run(config(tmp_path / "photos"), out)
    assert [path.name for path in out.iterdir() if path.name != ".lock"] == ["watch.json"]
