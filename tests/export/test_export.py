"""`scale export`: files that give the learner's embeddings, in any batches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from scale import load
from scale._errors import InputError
from scale.cli import main
from scale.export import export_learner, export_module, graphs
from scale.methods import METHODS
from tests.methods.learners import fit, images, make

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")


pytestmark = pytest.mark.slow


def session_of(path: Path) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


@pytest.fixture(scope="module")
def exported(saved: Path) -> Path:
    return export_learner(saved).path


def test_the_file_gives_the_learners_embeddings_for_any_number_of_images(
    saved: Path, exported: Path
) -> None:
    learner, session = load(saved), session_of(exported)
    assert exported == saved.with_suffix(".onnx")
    for count in (1, 2, 3, 50):
        (found,) = session.run(None, {"images": images(count)})
        assert np.abs(found - learner.transform(images(count))).max() <= 1e-4
    (none,) = session.run(None, {"images": images(1)[:0]})
    assert none.shape == (0, learner.transform(images(1)).shape[1])


def test_the_file_says_what_it_is_and_nothing_of_this_machine(exported: Path) -> None:
    about = session_of(exported).get_modelmeta().custom_metadata_map
    assert about["method"] == "scale-plus"
    assert len(about["code"]) == 16
    assert about["image_shape"] == str(list(images(1).shape[1:]))
    assert '"mean"' in about["normalisation"]
    assert b".py" not in exported.read_bytes()


def test_the_lines_that_the_command_prints_use_the_file(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "it's.onnx"
    assert main(["export", str(saved), "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert "images in memory" in told
    names = {"images": images(3)}
    exec("\n".join(told.splitlines()[-3:]), names)
    assert np.abs(names["z"] - load(saved).transform(images(3))).max() <= 1e-4


def test_a_program_of_torch_loads_without_this_package(saved: Path, tmp_path: Path) -> None:
    out = tmp_path / "learner.pt2"
    assert main(["export", str(saved), "--to", "torch", "--out", str(out)]) == 0
    np.save(tmp_path / "images.npy", images(5))
    code = (
        "import sys, numpy, torch\n"
        f"program = torch.export.load({str(out)!r}).module()\n"
        "images = torch.from_numpy(numpy.load('images.npy'))\n"
        "parts = images[:0], images[:1], images[1:]\n"
        "numpy.save('z.npy', torch.cat([program(part) for part in parts]).numpy())\n"
        "assert not [name for name in sys.modules if name.split('.')[0] == 'scale']\n"
    )
    subprocess.run([sys.executable, "-I", "-c", code], cwd=tmp_path, check=True)
    assert np.abs(np.load(tmp_path / "z.npy") - load(saved).transform(images(5))).max() <= 1e-4


def test_int8_is_smaller_and_says_what_it_costs(tmp_path: Path) -> None:
    path = tmp_path / "er.safetensors"
    fit(make("er")).save(path)
    whole = export_learner(path)
    small = export_learner(path, int8=True, out=tmp_path / "small.onnx")
    assert small.size < 0.5 * whole.size
    assert small.int8 is not None
    assert "nearest neighbours are the same" in small.int8
    (found,) = session_of(small.path).run(None, {"images": images(4)})
    wanted = load(path).transform(images(4))
    assert 0 < np.abs(found - wanted).mean() < 0.2 * np.abs(wanted).mean()


def test_the_cost_of_int8_on_a_run_is_its_knn(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(small_run), "--int8", "--out", str(tmp_path / "z.onnx")]) == 0
    told = capsys.readouterr().out
    assert "test images of" in told
    assert "instead of" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no-such-run"], "no-such-run"),
        (["{saved}", "--to", "torch", "--int8"], "int8 is for onnx"),
        (["{saved}", "--to", "tflite"], "tflite"),
        (["{pixels}", "--int8"], "layers of an encoder"),
        (["{saved}", "--out", "/proc/no/learner.onnx"], "/proc/no"),
    ],
)
def test_mistakes_end_in_one_line(
    arguments: list[str],
    message: str,
    saved: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pixels = tmp_path / "pixels.safetensors"
    fit(make("pixels")).save(pixels)
    given = [one.format(saved=saved, pixels=pixels) for one in arguments]
    assert main(["export", *given]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1


class Stubborn(nn.Module):
    """An encoder whose steps depend on the values."""

    def forward(self, x: Tensor) -> Tensor:
        return x.flatten(1) if float(x.sum()) > 0 else -x.flatten(1)


def test_an_encoder_that_cannot_be_traced_is_refused() -> None:
    learner = make("random", encoder=Stubborn()).partial_fit(images(4))
    with pytest.raises(InputError, match="cannot trace it"):
        graphs.trace(export_module(learner), learner.image_shape_)


def test_a_graph_that_differs_is_not_written() -> None:
    wanted = np.ones((4, 2), np.float32)
    with pytest.raises(Exception, match="nothing was written"):
        graphs.check_same(lambda part: np.ones((len(part), 2)) * 1.01, wanted, np.zeros((4, 1)))


def test_every_kind_of_graph_in_onnxruntime(tmp_path: Path) -> None:
    """Methods whose graphs have the same layers are exported once; `test_families` has all."""
    path, kinds = tmp_path / "learner.safetensors", set()
    for name in METHODS:
        learner = fit(make(name), last=2)
        kind = frozenset(type(layer) for layer in export_module(learner).modules())
        if kind not in kinds:
            kinds.add(kind)
            learner.save(path)
            assert export_learner(path).difference <= 1e-4, name
    assert len(kinds) > 3


def test_torchs_threads_are_left_alone(exported: Path) -> None:
    before = torch.get_num_threads()
    graphs.onnx_transform(exported.read_bytes())(images(2))
    assert torch.get_num_threads() == before
