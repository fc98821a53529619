"""`scale push` and `scale pull`, against a folder and a small hub of the test's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import scale
from scale._errors import InputError
from scale.cli import main
from tests.hub.conftest import Hub
from tests.methods.learners import images

pytest.importorskip("onnxscript")
pytest.importorskip("onnxruntime")

pytestmark = pytest.mark.slow

FILES = {"README.md", "learner.safetensors", "learner.onnx"}


@pytest.fixture(scope="module")
def pushed(saved: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that stands in for the hub, with one learner."""
    folder = tmp_path_factory.mktemp("shelf") / "model"
    assert main(["push", str(saved), str(folder)]) == 0
    return folder


def test_a_folder_stands_in_for_the_hub(pushed: Path, saved: Path, tmp_path: Path) -> None:
    assert {file.name for file in pushed.iterdir()} == FILES
    out = tmp_path / "pulled"
    assert main(["pull", str(pushed), "--out", str(out)]) == 0
    assert {file.name for file in out.iterdir()} == FILES
    assert (out / "learner.safetensors").read_bytes() == saved.read_bytes()


def test_the_lines_of_the_card_embed_a_photo(
    pushed: Path, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = (pushed / "README.md").read_text()
    lines = card.split("```python\n")[1].split("```")[0]
    noise = np.random.default_rng(0).integers(0, 256, (30, 40, 3), dtype=np.uint8)
    Image.fromarray(noise).save(pushed / "photo.jpg")
    monkeypatch.chdir(pushed)
    names: dict[str, Any] = {}
    exec(lines, names)
    (pushed / "photo.jpg").unlink()
    assert names["images"].shape == (1, *images(1).shape[1:])
    assert np.abs(names["z"] - scale.load(saved).transform(names["images"])).max() <= 1e-4


def test_the_hub_gives_back_what_was_pushed(
    hub: Hub, saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["push", str(saved), "me/small", "--licence", "mit"]) == 0
    assert "which others can now see" in capsys.readouterr().out
    assert hub.models["me/small"].keys() == FILES
    assert b"license: mit" in hub.models["me/small"]["README.md"]
    assert main(["pull", "me/small", "--out", str(tmp_path / "pulled")]) == 0
    assert (tmp_path / "pulled/learner.safetensors").read_bytes() == saved.read_bytes()
    learner = scale.load("hf:me/small")
    assert np.array_equal(learner.transform(images(3)), scale.load(saved).transform(images(3)))


def test_without_the_learner_no_image_of_the_stream_leaves(saved: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    assert main(["push", str(saved), str(folder), "--no-learner"]) == 0
    assert {file.name for file in folder.iterdir()} == FILES - {"learner.safetensors"}


def test_only_known_files_are_pulled(hub: Hub, pushed: Path, tmp_path: Path) -> None:
    hub.models["me/more"] = {file.name: file.read_bytes() for file in pushed.iterdir()}
    hub.models["me/more"]["evil.py"] = b"1"
    assert main(["pull", "me/more", "--out", str(tmp_path / "out")]) == 0
    assert {file.name for file in (tmp_path / "out").iterdir()} == FILES


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert main(arguments) != 0
    told = capsys.readouterr().err
    assert told.count("\n") == 1, told
    return told


def test_no_token(
    hub: Hub, saved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from huggingface_hub import constants

    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", "/nonexistent")
    told = refused(["push", str(saved), "me/small"], capsys)
    assert "hf auth login" in told
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    told = refused(["push", str(saved), "me/small"], capsys)
    assert "does not allow" in told


def test_no_network_and_wrong_names(
    hub: Hub,
    saved: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = ["--out", str(tmp_path / "out")]
    assert "there is no model me/none" in refused(["pull", "me/none", *out], capsys)
    assert "neither owner/name" in refused(["pull", "none", *out], capsys)
    assert "there is no folder" in refused(["pull", "./none", *out], capsys)
    told = refused(["push", "none", "./there", "--licence", "a\nb: c"], capsys)
    assert "licence must be an identifier" in told
    with pytest.raises(InputError, match="there is no model me/none"):
        scale.load("hf:me/none")
    with pytest.raises(InputError, match="owner/name"):
        scale.load("hf:none")
    hub.models["me/empty"] = {"weights.bin": b""}
    assert "was not pushed" in refused(["pull", "me/empty", *out], capsys)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert "check the network" in refused(["pull", "me/none", *out], capsys)
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_told_before_the_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    told = refused(["push", str(tmp_path / "no-run"), str(tmp_path / "file" / "new")], capsys)
    assert "a file is where a folder on its path should be" in told


def test_nothing_that_is_there_is_overwritten(
    pushed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    told = refused(["pull", str(pushed), "--out", str(tmp_path)], capsys)
    assert "is there already" in told


def test_a_damaged_learner_is_not_kept(
    pushed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "learner.safetensors").write_bytes(b"no learner")
    refused(["pull", str(broken), "--out", str(tmp_path / "out")], capsys)
    assert not (tmp_path / "out").exists()
