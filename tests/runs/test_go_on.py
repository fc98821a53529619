"""A run that goes on from a learner that exists: `--from`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scale
from scale._errors import InputError
from scale.runs import RunConfig, config_from, make_learner, read_metrics, run
from scale.runs.setting import prepare
from tests.methods.learners import differences, state
from tests.runs.conftest import Command, Lines, StopAt, make_photos

PARAMS = {
    "encoder": "cnn",
    "augmentation": "mnist",
    "steps_per_batch": 1,
    "memory_size": 60,
    "memory_batch": 10,
}


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_photos(tmp_path_factory.mktemp("new") / "photos", {"cat": 20, "dog": 20}, seed=3)


@pytest.fixture(scope="module")
def first(small_set: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of a method with a memory."""
    out = tmp_path_factory.mktemp("first") / "run"
    settings = RunConfig(
        dataset=str(small_set), method="er", stream_batch=20, evaluations=1, params=dict(PARAMS)
    )
    run(settings, out)
    return out


def on(source: Path, photos: Path, **options: Any) -> RunConfig:
    usual = {"dataset": str(photos), "stream_batch": 10, "evaluations": 2}
    return config_from(source, **{**usual, **options})


@pytest.fixture(scope="module")
def second(first: Path, photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("second") / "run"
    run(on(first, photos), out)
    return out


def test_it_learns_as_the_loaded_learner_does(first: Path, second: Path, photos: Path) -> None:
    learner = scale.load(first / "learner.safetensors")
    for batch in prepare(on(first, photos)).stream:
        learner.partial_fit(batch)
    assert differences(state(scale.load(second / "learner.safetensors")), state(learner)) == []


def test_config_and_record_say_what_it_went_on_from(first: Path, second: Path) -> None:
    described = json.loads((second / "config.json").read_text())
    assert described["start"]["learner"] == str(first)
    assert described["start"]["images"] == 120
    assert described["start"]["digest"] == described["run"]["start_digest"]
    assert described["run"]["method"] == "er"
    floor = json.loads((second / "floors.json").read_text())["random"]
    evaluations = read_metrics(second / "metrics.jsonl", "evaluation")
    assert [one["position"] for one in evaluations] == [0, 20, 32]
    settings = RunConfig.read(second)
    evaluator = prepare(settings).evaluator
    assert evaluator is not None
    untrained = evaluator(make_learner(settings).transform, full=True)
    assert floor == untrained, "not the learner that the run goes on from"


def test_memory_counts_images_of_the_earlier_stream_apart(second: Path) -> None:
    batches = read_metrics(second / "metrics.jsonl", "batch")
    assert [sum(one["memory"]) + one["memory_before"] for one in batches] == [60] * 4
    assert batches[0]["memory_before"] < 60


@pytest.mark.parametrize("what", ["gone", "changed"])
def test_resumed_it_needs_only_its_own_checkpoints(
    what: str, first: Path, second: Path, photos: Path, tmp_path: Path
) -> None:
    source, out = Path(shutil.copytree(first, tmp_path / "source")), tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run(on(source, photos), out, checkpoint_seconds=1000, display=StopAt(2))
    learner = source / "learner.safetensors"
    learner.unlink() if what == "gone" else learner.write_bytes(b"other")
    run(RunConfig.read(out), out, resume=True)
    for name in ("metrics.jsonl", "learner.safetensors", "floors.json"):
        assert (out / name).read_bytes() == (second / name).read_bytes(), name


def test_without_a_checkpoint_a_changed_learner_is_refused(
    first: Path, photos: Path, tmp_path: Path
) -> None:
    source, out = tmp_path / "learner.safetensors", tmp_path / "run"
    shutil.copy(first / "learner.safetensors", source)
    with pytest.raises(KeyboardInterrupt):
        run(on(source, photos), out, display=StopAt(1))
    shutil.rmtree(out / "checkpoints")
    scale.load(source).partial_fit(np.zeros((20, 1, 16, 16), np.uint8)).save(source)
    with pytest.raises(InputError, match=r"changed since the run began.*put back the file"):
        run(RunConfig.read(out), out, resume=True)
    source.unlink()
    with pytest.raises(InputError, match="a learner that is gone and has no checkpoint"):
        run(RunConfig.read(out), out, resume=True)


def test_it_goes_on_from_a_run_that_is_not_finished(
    first: Path, photos: Path, tmp_path: Path
) -> None:
    with pytest.raises(KeyboardInterrupt):
        run(on(first, photos), tmp_path / "a", checkpoint_seconds=0, display=StopAt(3))
    summary = run(on(tmp_path / "a", photos), tmp_path / "b")
    assert json.loads((tmp_path / "b" / "config.json").read_text())["start"]["images"] == 140
    assert summary["method"] == "er"


def refused(command: Command, *arguments: str) -> str:
    done = command.finish(["run", *arguments])
    assert done.status == 2
    assert done.error.count("\n") == 1
    return done.error


def test_what_does_not_fit_the_learner_is_refused(
    command: Command, first: Path, photos: Path, tmp_path: Path
) -> None:
    out = ["--out", str(tmp_path / "run")]
    new = ["--from", str(first), "--dataset", str(photos), *out]
    assert "has lr = 0.03, not 0.1; leave that option out" in refused(command, *new, "--lr", "0.1")
    assert "is a 'er', not a 'simclr'" in refused(command, *new, "--method", "simclr")
    assert "--from needs --dataset" in refused(command, "--from", str(first), *out)
    larger = refused(command, *new, "--image-size", "20")
    assert "1 x 16 x 16" in larger
    assert "add --image-size 16" in larger
    for source in (tmp_path / "nothing", photos):
        assert str(source) in refused(
            command, "--from", str(source), "--dataset", str(photos), *out
        )
    assert not (tmp_path / "run" / "config.json").exists()


def test_a_finished_run_whose_data_has_grown_offers_it(tmp_path: Path) -> None:
    photos = make_photos(tmp_path / "photos", {"cat": 8, "dog": 8})
    settings = RunConfig(
        dataset=str(photos), method="simclr", params={"encoder": "cnn", "steps_per_batch": 1}
    )
    out = tmp_path / "run"
    summary = run(settings, out)
    told = Lines()
    assert run(settings, out, resume=True, display=told) == summary
    assert told.lines == [f"the run in {out} is finished"]
    make_photos(photos, {"dog": 9})
    told = Lines()
    assert run(settings, out, resume=True, display=told) == summary
    (line,) = told.find("16 images then, 17 images now")
    assert f"scale run --from {out} --dataset {photos} --out OTHER" in line
    shutil.rmtree(photos)
    assert run(settings, out, resume=True) == summary, "data that is gone matters no more"


def test_the_offered_command_works_for_data_without_labels(
    command: Command, tmp_path: Path
) -> None:
    photos, out, other = tmp_path / "photos", tmp_path / "run", tmp_path / "other"
    make_photos(tmp_path, {"photos": 8})
    begun = {"image_size": 12, "params": {"encoder": "cnn", "steps_per_batch": 1}}
    run(RunConfig(dataset=str(photos), stream="as-is", method="simclr", **begun), out)
    make_photos(tmp_path, {"photos": 9})
    done = command.finish(
        ["run", "--from", str(out), "--dataset", str(photos), "--out", str(other), "--no-pictures"]
    )
    assert done.status == 0
    kept = RunConfig.read(other)
    assert (kept.stream, kept.image_size) == ("as-is", 12)
