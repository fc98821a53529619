from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from scale._errors import InputError, NonFiniteLossError
from scale.methods import METHODS, load
from scale.runs import RunConfig, load_learner, read_metrics, run
from scale.runs.run import evaluation_points
from scale.runs.setting import prepare
from tests.methods.learners import first_only

PARAMS = {
    "encoder": "cnn",
    "augmentation": "mnist",
    "steps_per_batch": 1,
    "memory_size": 30,
    "memory_batch": 10,
    "clusters": 8,
}


def config(dataset: Path, **changes: object) -> RunConfig:
    settings: dict[str, object] = {
        "dataset": str(dataset),
        "stream_batch": 20,
        "evaluations": 3,
        "params": PARAMS,
    }
    return RunConfig(**{**settings, **changes})  # type: ignore[arg-type]


def test_the_folder_holds_everything_needed_to_repeat_the_run(unbroken: Path) -> None:
    described = json.loads((unbroken / "config.json").read_text())
    assert described["run"]["params"]["steps_per_batch"] == 1
    assert described["run"]["params"]["tau"] == 0.1, "defaults are written out too"
    assert {"torch", "numpy", "python", "scale-lifelong"} <= described["versions"].keys()
    assert described["data"]["per_class"] == [40, 40, 40]
    assert described["protocol"]["k"] > 0


def test_the_summary_has_the_learner_the_course_and_the_floors(unbroken: Path) -> None:
    summary = json.loads((unbroken / "summary.json").read_text())
    over_stream = ("forgetting", "forgetting_seen", "drop", "average")
    for name in ("knn", "acc", "nmi", "ari", "linear", "knn_full", *over_stream):
        assert np.isfinite(summary[name])
    assert set(summary["floors"]) == {"random", "pixels", "pca"}
    evaluations = read_metrics(unbroken / "metrics.jsonl", "evaluation")
    assert [e["position"] for e in evaluations] == [0, 40, 80, 120]
    assert summary["floors"]["random"]["knn"] == evaluations[0]["knn"]
    assert summary["knn"] == evaluations[-1]["knn"]
    assert summary["timing"]["wall_seconds"] > 0


def test_memory_counts_add_up_to_what_is_in_memory(unbroken: Path) -> None:
    batches = read_metrics(unbroken / "metrics.jsonl", "batch")
    assert [sum(b["memory"]) for b in batches] == [20, *[30] * 5]
    assert batches[0]["memory"] == [20, 0, 0], "seq begins with the first class alone"


def test_equal_seeds_give_equal_files_and_other_seeds_do_not(
    small_set: Path, tmp_path: Path
) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        settings = config(small_set, seed=seed, stream_batch=60, evaluations=1)
        run(settings, tmp_path / name)
    a, b, c = ((tmp_path / n / "metrics.jsonl").read_bytes() for n in "abc")
    assert a == b
    assert a != c


def test_labels_do_not_reach_the_learner(small_set: Path, tmp_path: Path) -> None:
    """The same images in the same order with other labels give the same learner."""
    with np.load(small_set) as stored:
        arrays = dict(stored)
    arrays["y_train"] = np.random.default_rng(0).permutation(arrays["y_train"])
    shuffled = tmp_path / "shuffled.npz"
    np.savez(shuffled, **arrays)
    for name, data in (("true", small_set), ("shuffled", shuffled)):
        run(config(data, stream="as-is", stream_batch=60, evaluations=1), tmp_path / name)
    one, other = ((tmp_path / n / "learner.safetensors").read_bytes() for n in ("true", "shuffled"))
    assert one == other


def test_data_without_labels_is_learned_without_evaluation(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (60, 16, 16), dtype=np.uint8)
    np.save(tmp_path / "images.npy", images)
    data = config(tmp_path / "images.npy", stream="as-is")
    summary = run(data, tmp_path / "run")
    assert summary["images"] == 60
    assert "knn" not in summary
    assert load_learner(tmp_path / "run").transform(images[:, None][:4]).shape == (4, 128)


def test_validation_images_come_from_the_train_split_and_are_not_streamed(
    small_set: Path,
) -> None:
    setting = prepare(config(small_set, validation=True))
    assert setting.evaluator is not None
    with np.load(small_set) as stored:
        train = {image.tobytes() for image in stored["x_train"]}
    held = {image.tobytes() for image in setting.evaluator.sets.eval_images}
    streamed = {image.tobytes() for image in setting.stream.images}
    assert held <= train
    assert held.isdisjoint(streamed)


def test_a_non_finite_loss_stops_the_run_and_names_the_last_good_checkpoint(
    small_set: Path, tmp_path: Path
) -> None:
    broken = config(small_set, params={**PARAMS, "lr": 1e30, "steps_per_batch": 3})
    with pytest.raises(NonFiniteLossError, match="checkpoint"):
        run(broken, tmp_path / "run", checkpoint_seconds=0)


def test_an_unfinished_run_can_be_asked_for_its_learner(unbroken: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(unbroken, tmp_path / "run"))
    final = load(out / "learner.safetensors")
    (out / "learner.safetensors").unlink()
    early = load_learner(out)
    images = np.zeros((2, 1, 16, 16), np.uint8)
    np.testing.assert_array_equal(early.transform(images), final.transform(images))


def test_a_parameter_that_no_learner_can_have_is_refused_before_anything_is_measured(
    small_set: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="theta must be 1 or more"):
        run(
            config(small_set, method="stam", params={"receptive_fields": [4], "theta": 0}),
            tmp_path / "run",
        )
    assert not (tmp_path / "run" / "floors.json").exists()


def test_a_folder_with_a_run_is_not_overwritten(small_set: Path, unbroken: Path) -> None:
    before = (unbroken / "metrics.jsonl").read_bytes()
    with pytest.raises(InputError, match="--resume"):
        run(config(small_set), unbroken)
    assert (unbroken / "metrics.jsonl").read_bytes() == before


@pytest.mark.parametrize("batches", [1, 3, 10, 57])
def test_evaluations_are_spread_and_end_with_the_stream(batches: int) -> None:
    points = evaluation_points(batches, 10)
    assert max(points) == batches
    assert min(points) >= 1
    assert len(points) == min(batches, 10)


@pytest.mark.filterwarnings("ignore:coherence does not learn")  # the images are no video
@pytest.mark.parametrize("method", first_only(METHODS))
def test_every_method_runs(method: str, small_set: Path, tmp_path: Path) -> None:
    fields = {field.name for field in dataclasses.fields(METHODS[method])}
    small = {**PARAMS, "receptive_fields": (4, 8)}  # the set's images are small
    params = {name: value for name, value in small.items() if name in fields}
    settings = config(small_set, method=method, params=params, stream_batch=60, evaluations=1)
    summary = run(settings, tmp_path / "run")
    assert 0 <= summary["knn"] <= 100
