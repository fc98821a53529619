"""Samples of memory along a run: small, the same for equal runs, and no part of the learning."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from scale._errors import DamagedFileError
from scale.memory import Memory
from scale.runs import read_metrics
from scale.runs.memory_sample import FOLDER, IMAGES, SIDE, read_samples, take_sample


def full_memory(shape: tuple[int, int, int], size: int = 100) -> Memory:
    memory = Memory(size, "reservoir", torch.Generator().manual_seed(0))
    shades = torch.arange(4 * size).remainder(256).to(torch.uint8)
    memory.update(shades[:, None, None, None].expand(-1, *shape).contiguous())
    return memory


def test_a_run_keeps_what_memory_held_at_its_evaluations(unbroken: Path) -> None:
    samples = read_samples(unbroken)
    evaluated = [one["position"] for one in read_metrics(unbroken / "metrics.jsonl", "evaluation")]
    assert [sample.seen for sample in samples] == [at for at in evaluated if at > 0]
    for sample in samples:
        assert len(sample.images) == sample.parts[:, 2].sum() == min(30, sample.seen)
        assert (np.diff(sample.arrivals) > 0).all()
        assert sample.arrivals[-1] < sample.seen
        assert sample.labels.min() >= 0
        assert [sample.parts[0, 0], sample.parts[-1, 1]] == [0, 120]


@pytest.mark.parametrize("shape", [(3, 96, 64), (1, 300, 2), (4, 8, 8)])
def test_a_sample_of_any_memory_is_small(shape: tuple[int, int, int]) -> None:
    memory = full_memory(shape)
    before = memory.generator.get_state()
    sample = take_sample(memory, 400, IMAGES)
    assert torch.equal(memory.generator.get_state(), before)
    assert len(sample.images) == IMAGES
    assert sample.images.shape[1] == shape[0]
    assert max(sample.images.shape[2:]) <= SIDE
    assert sample.parts[:, 2].sum() == 100
    assert (sample.images == (sample.arrivals % 256)[:, None, None, None]).all()


def test_a_stream_shorter_than_its_parts_is_counted_too() -> None:
    memory = Memory(5, "fifo", torch.Generator())
    memory.update(torch.zeros(3, 1, 4, 4, dtype=torch.uint8))
    assert take_sample(memory, 3, IMAGES).parts.tolist() == [[0, 1, 1], [1, 2, 1], [2, 3, 1]]


def test_files_that_are_no_samples_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    good = take_sample(full_memory((1, 8, 8)), 400, IMAGES)._asdict()
    for name, wrong in (
        ("images", good["images"].astype(float)),
        ("images", np.zeros((60, 1, 64, 64), np.uint8)),
        ("arrivals", good["arrivals"][1:]),
        ("parts", good["parts"][:, :2]),
        ("seen", good["arrivals"]),
    ):
        np.savez(folder / "0000000001.npz", **{**good, name: wrong})
        with pytest.raises(DamagedFileError, match="not a sample"):
            read_samples(tmp_path)
    np.savez(folder / "0000000001.npz", **good)
    np.savez(folder / "0000000002.npz", **take_sample(full_memory((3, 8, 8)), 400, 9)._asdict())
    with pytest.raises(DamagedFileError, match="several runs"):
        read_samples(tmp_path)
