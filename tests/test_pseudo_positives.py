"""The benchmark of pseudo-positives: what it counts, what it refuses, and its tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from benchmarks._acceptance import KAPPAS, MUS, tallies
from benchmarks._batch_norm import take_statistics_of_memory
from benchmarks._batches import Batch, class_ordered, draw_batches
from benchmarks.pseudo_positives import main, measure, start_of

from scale.losses import dot_products, pseudo_positives, symmetric_sne
from scale.methods import SCALE, Replay, load
from scale.runs import RunConfig, make_learner, prepare, run

Line = dict[str, Any]
PARAMS = {"encoder": "cnn", "augmentation": "mnist", "steps_per_batch": 2}
TOLD = "scale, encoder cnn, augmentation mnist, steps_per_batch 2"


def config(dataset: Path, method: str = "scale", stream: str = "seq", **params: Any) -> RunConfig:
    return RunConfig(
        dataset=str(dataset),
        method=method,
        stream=stream,
        stream_batch=20,
        evaluations=1,
        params={**PARAMS, **params},
    )


@pytest.fixture(scope="module")
def finished(small_set: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pseudo") / "run"
    run(config(small_set), out)
    return out


@pytest.fixture
def learner(finished: Path) -> SCALE:
    found = load(finished / "learner.safetensors")
    assert isinstance(found, SCALE)
    return found


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([*map(str, arguments)]) == 0
    return capsys.readouterr().out


@pytest.fixture(scope="module")
def lines(finished: Path) -> list[Line]:
    return list(measure(finished, count=2, images=256))


def a_batch(learner: Replay, small_set: Path, kind: str = "iid") -> Batch:
    setting = prepare(config(small_set))
    drawn = draw_batches(learner, setting.stream, setting.labels, count=1, images=8)
    return next(batch for batch in drawn if batch.kind == kind)


def test_there_is_one_line_for_each_cell_and_one_of_batch_norm(lines: list[Line]) -> None:
    assert [line["measured"] for line in lines] == ["batch_norm"] + ["pseudo_positives"] * 160
    names = ("state", "batch", "space", "kappa", "mu")
    assert len({tuple(line[name] for name in names) for line in lines[1:]}) == 160
    for line in lines:
        assert (line["dataset"], line["features"]) == ("small.npz", TOLD)
        assert line["seed"] == 0
    for line in lines[1:]:
        assert (line["n"], line["m"], line["batches"]) == (40, 80, 2)  # all that a class has
        assert 1 <= line["pseudo_positives"] <= 79
        assert line["share"] == pytest.approx(100 * line["pseudo_positives"] / 79, abs=1e-3)
        assert (line["chance"] == 100) == (line["batch"] == "class-ordered")


def test_precision_is_told_only_where_classes_are_mixed(lines: list[Line]) -> None:
    for line in lines[1:]:
        told = line["precision"] is not None
        assert told == (line["batch"] == "iid" and line["pairs"] > 0)
    assert any(line["precision"] is not None for line in lines[1:])


def test_a_greater_mu_accepts_no_more(lines: list[Line]) -> None:
    by_mu: dict[tuple[Any, ...], list[float]] = {}
    for line in sorted(lines[1:], key=lambda line: line["mu"]):
        cell = tuple(line[name] for name in ("state", "batch", "space", "kappa"))
        by_mu.setdefault(cell, []).append(line["pseudo_positives"])
    for counts in by_mu.values():
        assert counts == sorted(counts, reverse=True)


def test_what_was_learned_changes_the_counts(lines: list[Line]) -> None:
    counts = {
        state: [line["pseudo_positives"] for line in lines[1:] if line["state"] == state]
        for state in ("start", "trained")
    }
    assert counts["start"] != counts["trained"]


def test_the_same_run_gives_the_same_lines(
    finished: Path, lines: list[Line], capsys: pytest.CaptureFixture[str]
) -> None:
    again = printed(capsys, finished, "--batches", 2).splitlines()
    assert [json.loads(line) for line in again] == lines


@pytest.mark.parametrize("space", ["z", "h"])
@pytest.mark.parametrize(("kappa", "mu"), [(KAPPAS[0], MUS[0]), (KAPPAS[2], MUS[2])])
def test_a_cell_counts_what_an_update_with_these_settings_would(
    space: Any, kappa: float, mu: float, learner: SCALE, small_set: Path
) -> None:
    batch = a_batch(learner, small_set)
    counted = dict(tallies(learner, batch))[space, kappa, mu]
    learner.similarity, learner.kappa, learner.mu, learner.lam = space, kappa, mu, 0.0
    stream_views, memory_views = batch.views[: 2 * batch.n], batch.views[2 * batch.n :]
    told = learner.losses(stream_views, memory_views)["pseudo_positives"]
    assert counted.rates()["pseudo_positives"] == pytest.approx(float(told), abs=1e-4)


def test_precision_is_that_of_counting_pair_by_pair(learner: SCALE, small_set: Path) -> None:
    batch = a_batch(learner, small_set)
    n, labels = batch.n, batch.labels.repeat(2)
    with torch.no_grad():
        p = symmetric_sne(dot_products(learner.project(batch.views)), 0.3)
    accepted = pseudo_positives(p, n, 0.05)
    pairs = [
        (i, j) for i in range(2 * n) for j in range(2 * n) if accepted[i, j] and j % n != i % n
    ]
    right = [(i, j) for i, j in pairs if labels[i] == labels[j]]
    rates = dict(tallies(learner, batch))["z", 0.3, 0.05].rates()
    assert rates["pairs"] == len(pairs) > 0
    assert rates["precision"] == pytest.approx(100 * len(right) / len(pairs), abs=1e-4)


def test_batches_of_one_class_are_spread_over_the_stream() -> None:
    labels = np.repeat([2, 0, 1], 7)
    found = class_ordered(labels, n=3, count=3)
    assert [places.tolist() for places in found] == [[0, 1, 2], [7, 8, 9], [17, 18, 19]]
    assert len(class_ordered(labels, n=3, count=100)) == 6
    mixed = class_ordered(np.array([1, 0, 1, 0]), n=2, count=2)
    assert [places.tolist() for places in mixed] == [[0, 2], [1, 3]]


def test_no_image_of_the_batch_is_replayed(small_set: Path) -> None:
    setting = prepare(config(small_set, augmentation="none"))
    learner = setting.learner
    assert isinstance(learner, Replay)
    learner.start((1, 16, 16))
    learner.memory_.update(torch.from_numpy(setting.stream.images[setting.stream.order]))
    for batch in draw_batches(learner, setting.stream, setting.labels, count=3, images=40):
        new, replayed = batch.views[:40].flatten(1), batch.views[80 : 80 + batch.m].flatten(1)
        assert batch.m == 80
        assert torch.cdist(new, replayed).min() > 0


def test_the_start_is_the_learner_before_its_first_batch(learner: SCALE, small_set: Path) -> None:
    setting = prepare(config(small_set))
    images = next(setting.stream)
    new = make_learner(config(small_set))
    assert np.array_equal(start_of(learner).transform(images), new.transform(images))


def test_running_statistics_give_the_knn_of_the_run(finished: Path, lines: list[Line]) -> None:
    summary = json.loads((finished / "summary.json").read_text())
    assert lines[0]["knn_running"] == summary["knn"]
    assert 0 <= lines[0]["knn_memory"] <= 100
    assert 0 < lines[0]["cosine"] < 1
    assert lines[0]["memory_images"] == 120


def test_statistics_of_memory_are_those_of_one_pass_of_its_images(learner: SCALE) -> None:
    images = learner.memory_.images
    assert take_statistics_of_memory(learner) == len(images)
    embedded = learner.transform(images)
    with torch.no_grad():
        in_training = learner.encoder_((images / 255 - 0.5) / 0.25).numpy()
    # Running variances are divided by one less than those of a pass.
    assert np.abs(embedded - in_training).max() < 0.01 * np.abs(embedded).max()


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main([*map(str, arguments)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    return told.err


def test_a_folder_without_a_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "holds no run" in refusal(capsys, tmp_path)


def test_a_run_without_replay_is_refused(
    small_set: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(config(small_set, "simclr"), tmp_path / "run")
    assert "'simclr', which replays no images" in refusal(capsys, tmp_path / "run")


def test_a_run_without_labels_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (40, 16, 16), dtype=np.uint8)
    np.save(tmp_path / "camera.npy", pixels)
    run(config(tmp_path / "camera.npy", stream="as-is"), tmp_path / "run")
    assert "without labels" in refusal(capsys, tmp_path / "run")


def test_a_run_that_is_not_finished_is_refused(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("config.json", "learner.safetensors"):
        (tmp_path / name).write_bytes((finished / name).read_bytes())
    assert "--resume" in refusal(capsys, tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [["RUN", "--batches", "0"], ["RUN", "--space", "z"], ["F", "--table", "--images=9"]],
)
def test_options_that_mean_nothing_are_refused(arguments: Sequence[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2


def cell(seed: int, kappa: float, mu: float, value: float | None, **more: Any) -> Line:
    of_run = {"dataset": "digits", "stream": "seq", "features": "scale", "seed": seed}
    kind = {"n": 64, "m": 32, "state": "trained", "batch": "iid", "space": "z"}
    rates = {"pseudo_positives": value, "pairs": 500, "precision": value, "chance": 9.5}
    return (
        {"measured": "pseudo_positives", **of_run, **kind, "kappa": kappa, "mu": mu} | rates | more
    )


def kept(path: Path, lines: Sequence[object]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_table_has_kappa_by_mu_and_the_spread_over_seeds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [cell(0, 0.1, 0.05, 40), cell(1, 0.1, 0.05, 42), cell(0, 0.03, 0.05, 7)]
    found += [cell(0, 0.03, 0.3, 1.25), cell(0, 0.1, 0.05, 99, space="h")]
    shown = printed(capsys, "--table", kept(tmp_path / "lines.jsonl", found), "--space", "z")
    assert shown == (
        "digits seq; scale; 2 seeds; encoder as trained; iid batches of 64 images, 32 replayed; "
        "by z: pseudo-positives per view\n\n"
        "| kappa | mu 0.05 | mu 0.3 |\n"
        "| --- | --- | --- |\n"
        "| 0.03 | 7.00 | 1.25 |\n"
        "| 0.1 | 41.00 ± 1.41 |  |\n"
    )


def test_precision_of_few_pairs_is_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [cell(0, 0.1, 0.05, 40), cell(0, 0.1, 0.3, 50, pairs=99)]
    found += [cell(0, 0.1, 0.05, 40, batch="class-ordered", precision=None)]
    path = kept(tmp_path / "lines.jsonl", found)
    shown = printed(capsys, "--table", path, "--measure", "precision")
    assert shown.count("| kappa |") == 1
    assert "(by chance 9.50)" in shown
    assert "| 0.1 | 40.00 |  |" in shown


def test_what_a_run_gives_can_be_shown_in_every_way(
    lines: list[Line], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = kept(tmp_path / "lines.jsonl", lines)
    assert printed(capsys, "--table", path).count("| kappa |") == 8
    assert printed(capsys, "--table", path, "--measure", "share").count("| kappa |") == 8
    assert printed(capsys, "--table", path, "--state", "start").count("| kappa |") == 4
    of_statistics = printed(capsys, "--table", path, "--measure", "batch_norm")
    assert f"{lines[0]['cosine']:.4f}" in of_statistics
    assert f"{lines[0]['knn_memory']:.2f}" in of_statistics


@pytest.mark.parametrize("line", [{"measured": "pseudo_positives"}, cell(0, 0.1, 0.1, None), [1]])
def test_a_file_that_tells_nothing_is_refused(
    line: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = kept(tmp_path / "lines.jsonl", [line])
    assert "lines.jsonl" in refusal(capsys, "--table", path)
    assert "there is no file" in refusal(capsys, "--table", tmp_path / "none.jsonl")
