"""The model card says what the record says, and no path of this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scale.hub import model_card
from scale.runs import load_learner
from tests.methods.learners import fit, make


def test_the_card_of_a_run_has_its_data_its_measures_and_its_floors(finished: Path) -> None:
    card = model_card(finished, load_learner(finished), "hf:me/x", with_learner=True, licence="mit")
    summary = json.loads((finished / "summary.json").read_text())
    assert card.startswith("---\nlicense: mit\n")
    assert "120 images of 3 classes (0, 1, 2) of small.npz" in card
    assert f"{summary['knn']:.1f}" in card
    for floor in summary["floors"].values():
        assert f"{floor['knn']:.1f}" in card
    assert json.loads((finished / "config.json").read_text())["code"]["digest"][:8] in card
    assert 'scale.load("hf:me/x")' in card
    assert "images of the stream, its memory" in card
    assert str(finished) not in card
    assert "/tmp" not in card


def test_the_card_of_a_learner_without_a_run_says_that_nothing_is_recorded(tmp_path: Path) -> None:
    card = model_card(tmp_path / "x", fit(make("er")), "hf:me/x", with_learner=False)
    assert "Not recorded" in card
    assert "It was not: there is no record" in card
    assert "not stated by its author" in card
    assert "scale.load" not in card


def test_a_card_names_a_file_of_weights_without_its_folder(tmp_path: Path) -> None:
    learner = fit(make("er"))
    learner.encoder = "resnet18@/home/me/weights.safetensors"  # type: ignore[attr-defined]
    card = model_card(tmp_path / "x", learner, "hf:me/x", with_learner=True)
    assert "encoder resnet18@weights.safetensors," in card
    assert "/home/me" not in card


@pytest.fixture(scope="module")
def finished(small_set: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from scale.cli import main

    out = tmp_path_factory.mktemp("runs") / "small"
    quick = ["--encoder", "cnn", "--augmentation", "mnist", "--steps-per-batch", "1"]
    size = ["--clusters", "20", "--evaluations", "1", "--threads", "1", "--no-pictures"]
    assert main(["run", "--out", str(out), "--dataset", str(small_set), *quick, *size]) == 0
    return out
