from __future__ import annotations

from pathlib import Path

import pytest
import torch

from scale._errors import InputError
from scale._tensors import write_tensors
from scale.runs.checkpoint import Checkpoints, Meta, State

LEARNER = {"method": "simclr", "params": {}, "image_shape": [1, 8, 8]}


def write(checkpoints: Checkpoints, cursor: int) -> Path:
    meta = {"learner": LEARNER, "cursor": cursor, "metrics_bytes": 0}
    return checkpoints.write(cursor, {"weight": torch.full((3,), float(cursor))}, meta)


def cursor_of(state: State, meta: Meta) -> int:
    return int(meta["cursor"])


def test_the_last_two_are_kept(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    written = [write(checkpoints, cursor) for cursor in (16, 32, 48)]
    assert checkpoints.paths() == written[1:]


def test_a_damaged_one_that_is_newer_does_not_push_out_a_good_one(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    good, damaged = write(checkpoints, 32), write(checkpoints, 48)
    damaged.write_bytes(damaged.read_bytes()[:100])
    warnings: list[str] = []
    checkpoints.read(warnings.append, cursor_of)
    assert len(warnings) == 1
    newest = write(checkpoints, 40)
    assert checkpoints.paths() == [good, newest]
    newest.write_bytes(b"")
    assert checkpoints.read(warnings.append, cursor_of) == 32


@pytest.mark.parametrize("cursor", [16, 32])
def test_writing_again_at_an_earlier_cursor_keeps_what_was_before(
    tmp_path: Path, cursor: int
) -> None:
    checkpoints = Checkpoints(tmp_path)
    for before in (16, 32):
        write(checkpoints, before)
    newest = write(checkpoints, cursor)
    assert checkpoints.paths()[-1] == newest


def test_one_of_an_older_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    path = tmp_path / "0000000005.safetensors"
    write_tensors(path, {"x": torch.zeros(1)}, {"format": "scale-checkpoint-1"})
    with pytest.raises(InputError, match=r"older version of scale.*with that version, or start"):
        checkpoints.read(pytest.fail, cursor_of)
