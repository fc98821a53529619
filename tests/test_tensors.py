from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scale._errors import DamagedFileError, InputError, ScaleError, UnwritableError
from scale._tensors import read_tensors, write_tensors
from tests.processes import run_code

TENSORS = {
    "float32": torch.randn(3, 4, generator=torch.Generator().manual_seed(0)),
    "float64": torch.tensor([1 / 3, float("nan"), float("inf")], dtype=torch.float64),
    "float16": torch.ones(2, dtype=torch.float16),
    "bfloat16": torch.ones(3, dtype=torch.bfloat16),
    "uint8": torch.arange(256, dtype=torch.uint8).reshape(4, 1, 8, 8),
    "int64": torch.tensor([-(2**62), 2**62]),
    "bool": torch.tensor([True, False, True]),
    "scalar": torch.tensor(3),
    "empty": torch.empty(0),
    "empty rows": torch.empty(0, 5, dtype=torch.uint8),
    "channels last": torch.randn(2, 3, 4, 4).contiguous(memory_format=torch.channels_last),
    "transposed": torch.arange(6).reshape(2, 3).T,
    "parameter": torch.nn.Parameter(torch.ones(2)),
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.floats(-1e9, 1e9) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return (
        a.dtype == b.dtype
        and a.shape == b.shape
        and torch.equal(a.nan_to_num(nan=7), b.nan_to_num(nan=7))
    )


@pytest.mark.parametrize("kind", TENSORS)
def test_a_tensor_comes_back_as_it_was(kind, tmp_path):
    write_tensors(tmp_path / "file", {"it": TENSORS[kind]}, {})
    tensors, _ = read_tensors(tmp_path / "file")
    assert same(tensors["it"], TENSORS[kind].detach())


def test_all_come_back_under_their_names(tmp_path):
    write_tensors(tmp_path / "file", TENSORS, {"a": [1, None], "é": {"b": 0.5}})
    tensors, meta = read_tensors(tmp_path / "file")
    assert tensors.keys() == TENSORS.keys()
    assert meta == {"a": [1, None], "é": {"b": 0.5}}


@given(meta=st.dictionaries(st.text(), JSON))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_json_comes_back(meta, tmp_path):
    write_tensors(tmp_path / "file", {}, meta)
    assert read_tensors(tmp_path / "file") == ({}, meta)


def test_keys_that_json_turns_into_text_do_not_damage_the_file(tmp_path):
    write_tensors(tmp_path / "file", {}, {"accuracy": {2: 0.5, 10: 0.75}})
    _, meta = read_tensors(tmp_path / "file")
    assert meta == {"accuracy": {"2": 0.5, "10": 0.75}}


def test_tensors_may_share_their_memory(tmp_path):
    whole = torch.arange(6.0)
    write_tensors(tmp_path / "file", {"a": whole, "b": whole, "part": whole[:3]}, {})
    tensors, _ = read_tensors(tmp_path / "file")
    assert same(tensors["a"], whole)
    assert same(tensors["b"], whole)
    assert same(tensors["part"], whole[:3])


def test_the_same_content_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write_tensors(tmp_path / name, TENSORS, {"x": 1})
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_flip_of_any_byte_is_noticed(tmp_path):
    write_tensors(tmp_path / "file", {"a": torch.arange(3), "b": torch.ones(2)}, {"x": "text"})
    whole = (tmp_path / "file").read_bytes()
    unnoticed = []
    for place in range(len(whole)):
        altered = bytearray(whole)
        altered[place] ^= 1 << place % 8
        (tmp_path / "altered").write_bytes(altered)
        try:
            read_tensors(tmp_path / "altered")
        except DamagedFileError:
            continue
        unnoticed.append(place)
    assert unnoticed == []


def test_a_cut_at_any_place_is_noticed(tmp_path):
    write_tensors(tmp_path / "file", {"a": torch.arange(3)}, {"x": "text"})
    whole = (tmp_path / "file").read_bytes()
    for length in range(len(whole)):
        (tmp_path / "cut").write_bytes(whole[:length])
        with pytest.raises(DamagedFileError, match="cut is damaged"):
            read_tensors(tmp_path / "cut")


def test_a_missing_file_is_called_missing(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        read_tensors(tmp_path / "nowhere")


def test_the_file_can_be_read_by_any_reader_of_safetensors(tmp_path):
    from safetensors.numpy import load_file

    write_tensors(tmp_path / "file", {"a": torch.arange(3)}, {"x": 1})
    np.testing.assert_array_equal(load_file(tmp_path / "file")["a"], [0, 1, 2])


def test_what_was_read_outlives_the_file(tmp_path):
    write_tensors(tmp_path / "file", {"a": torch.arange(1000)}, {})
    tensors, _ = read_tensors(tmp_path / "file")
    write_tensors(tmp_path / "file", {"a": torch.zeros(1000)}, {})
    assert torch.equal(tensors["a"], torch.arange(1000))
    tensors["a"].zero_()  # and is the reader's own


def test_a_failed_write_keeps_the_old_file(tmp_path):
    write_tensors(tmp_path / "file", {"a": torch.arange(3)}, {})
    with pytest.raises((TypeError, ScaleError)):
        write_tensors(tmp_path / "file", {"a": torch.zeros(3)}, {"x": object()})
    tensors, _ = read_tensors(tmp_path / "file")
    assert torch.equal(tensors["a"], torch.arange(3))
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


UNPICKLED = """
import sys, torch
from pathlib import Path
from scale._tensors import read_tensors, write_tensors
seen = []
sys.addaudithook(lambda event, args: seen.append(event) if event.startswith("pickle") else None)
write_tensors(Path(sys.argv[1]), {"a": torch.zeros(5)}, {"x": 1})
read_tensors(Path(sys.argv[1]))
assert seen == [], seen
"""


def test_a_limit_on_file_size_is_told_and_keeps_the_old_file(tmp_path, limit_files):
    write_tensors(tmp_path / "file", {"a": torch.arange(3)}, {})
    limit_files(1000)
    with pytest.raises(UnwritableError):
        write_tensors(tmp_path / "file", {"a": torch.zeros(5000)}, {})
    assert torch.equal(read_tensors(tmp_path / "file")[0]["a"], torch.arange(3))
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_is_told_and_keeps_the_old_file(small_disk):
    disk = small_disk("64k")
    write_tensors(disk / "file", {"a": torch.arange(3)}, {})
    with pytest.raises(ScaleError, match="no space left on the disk"):
        write_tensors(disk / "file", {"a": torch.zeros(100_000)}, {})
    assert torch.equal(read_tensors(disk / "file")[0]["a"], torch.arange(3))
    assert [file.name for file in disk.iterdir()] == ["file"]


@pytest.mark.slow
def test_nothing_is_unpickled(tmp_path):
    assert run_code(UNPICKLED, str(tmp_path / "file")) == ("", "")
