"""What happens to a learner's file, and what `load` says to others."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from scale._errors import DamagedFileError, InputError, ScaleError
from scale._tensors import read_tensors, write_tensors
from scale.methods import load

from .learners import fit, make


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A learner in the middle of a stream, in a file."""
    path = tmp_path_factory.mktemp("saved") / "learner.safetensors"
    fit(make("scale"), last=4).save(path)
    return path


@pytest.mark.parametrize("part", [0, 1, 7, 8, 9, 500, 0.1, 0.5, 0.9, -1])
def test_a_truncated_file_is_called_damaged(saved, part, tmp_path):
    whole = saved.read_bytes()
    length = int(part * len(whole)) if isinstance(part, float) else part % len(whole)
    (tmp_path / "cut").write_bytes(whole[:length])
    with pytest.raises(DamagedFileError, match="cut is damaged"):
        load(tmp_path / "cut")


def test_a_flipped_bit_anywhere_is_noticed(saved, tmp_path):
    whole = saved.read_bytes()
    places = np.random.default_rng(0).integers(0, len(whole), 20).tolist()
    for place in [0, 7, 8, 20, 100, len(whole) // 2, len(whole) - 1, *places]:
        altered = bytearray(whole)
        altered[place] ^= 1 << (place % 8)
        (tmp_path / "altered").write_bytes(altered)
        with pytest.raises(DamagedFileError, match="altered"):
            load(tmp_path / "altered")


def test_bytes_after_the_end_are_noticed(saved, tmp_path):
    (tmp_path / "longer").write_bytes(saved.read_bytes() + b"more")
    with pytest.raises(DamagedFileError, match="longer"):
        load(tmp_path / "longer")


def test_a_missing_file_is_called_missing(tmp_path):
    with pytest.raises(InputError, match=r"there is no file .*nowhere"):
        load(tmp_path / "nowhere")


def test_a_folder_is_not_a_file(tmp_path):
    with pytest.raises(InputError, match="is a folder"):
        load(tmp_path)


@pytest.mark.parametrize(
    "content", [b"just text\n", b"", b"\x80\x04\x95pickle.", b"PK\x03\x04" * 99]
)
def test_a_file_of_another_kind_is_called_so(content, tmp_path):
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(DamagedFileError, match="other is damaged or not a safetensors file"):
        load(tmp_path / "other")


@pytest.mark.parametrize("metadata", [None, {"format": "pt"}, {"scale": "{"}, {"scale": "[]"}])
def test_a_safetensors_file_of_someone_else_is_called_so(metadata, tmp_path):
    save_file({"weight": torch.zeros(3)}, tmp_path / "foreign", metadata=metadata)
    with pytest.raises(DamagedFileError, match="foreign"):
        load(tmp_path / "foreign")


def drop(key):
    return lambda state, meta: meta.pop(key)


def put(key, value):
    return lambda state, meta: meta.update({key: value})


MISFITS = {
    "other format": put("format", "scale-run-1"),
    "no format": drop("format"),
    "no method": drop("method"),
    "unknown method": put("method", "nonsense"),
    "no parameters": drop("params"),
    "parameters of another kind": put("params", [1, 2]),
    "unknown parameter": lambda state, meta: meta["params"].update(nonsense=1),
    "no image shape": drop("image_shape"),
    "empty image shape": put("image_shape", []),
    "other image channels": put("image_shape", [3, 28, 28]),
    "no weight": lambda state, meta: state.pop("projector.0.weight"),
    "other weight": lambda state, meta: state.update({"projector.0.weight": torch.zeros(3)}),
    "no memory": lambda state, meta: state.pop("memory.images"),
    "no generator": lambda state, meta: state.pop("view_rng.state"),
    "other generator": lambda state, meta: state.update(
        {"view_rng.state": torch.zeros(3, dtype=torch.uint8)}
    ),
}


@pytest.mark.parametrize("misfit", MISFITS)
def test_a_whole_file_with_another_content_is_refused(saved, misfit, tmp_path):
    state, meta = read_tensors(saved)
    MISFITS[misfit](state, meta)
    write_tensors(tmp_path / "misfit", state, meta)
    with pytest.raises(ScaleError, match="misfit"):
        load(tmp_path / "misfit")


def test_a_description_that_is_no_table_is_refused(tmp_path):
    write_tensors(tmp_path / "misfit", {}, [1, 2])
    with pytest.raises(ScaleError, match="misfit"):
        load(tmp_path / "misfit")


@pytest.mark.parametrize("device", ["gpuu", "cuda:99"])
def test_a_device_that_is_not_there_is_not_the_files_fault(saved, device):
    with pytest.raises(InputError, match=device):
        load(saved, device=device)


def test_the_description_is_plain_json(saved):
    _, meta = read_tensors(saved)
    assert meta["method"] == "scale"
    assert meta["params"]["encoder"] == "cnn"
    assert meta["image_shape"] == [1, 28, 28]
    assert json.loads(json.dumps(meta)) == meta


def test_parameters_may_be_numpy_numbers(tmp_path):
    learner = fit(make("scale", seed=np.int64(3), lr=np.float32(0.5)), last=1)
    learner.save(tmp_path / "learner")
    assert load(tmp_path / "learner").seed == 3


def test_a_failed_save_leaves_the_old_file(tmp_path):
    learner = fit(make("scale"), last=1)
    learner.save(tmp_path / "learner")
    before = (tmp_path / "learner").read_bytes()
    learner.lr = object()  # cannot be described
    with pytest.raises((TypeError, ScaleError)):
        learner.save(tmp_path / "learner")
    assert (tmp_path / "learner").read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["learner"]


def test_a_learner_of_an_older_version_is_refused_with_what_to_do(saved, tmp_path):
    state, meta = read_tensors(saved)
    write_tensors(tmp_path / "old", state, {**meta, "format": "scale-learner-1"})
    with pytest.raises(DamagedFileError, match=r"older version of scale.*with that version, or"):
        load(tmp_path / "old")
