"""Embeddings made on a real Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from scale._errors import InputError
from scale.data.archive import Files
from scale.data.decode import Skipped
from scale.runs.embed import embed_images
from scale.runs.embed_parts import PART, Part
from scale.runs.embed_ray import _check_reach
from tests.runs.test_embed import SIDE, made_learner

PARTS = 8


class KillWhenBusy:
    """A progress that kills a node when a part is done and every node is at another."""

    def __init__(self, kill: Callable[[], None]) -> None:
        self.kill = kill
        self.done_before_kill = 0

    def __call__(self, done: int, total: int) -> None:
        import ray

        if done == 0 or self.done_before_kill:
            return
        free = ray.available_resources().get("CPU", 0)
        if ray.cluster_resources().get("CPU", 0) == 2 and free == 0:
            self.done_before_kill = done
            self.kill()


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A folder with many names for a few images."""
    rng = np.random.default_rng(0)
    originals = [tmp_path / f"{i}.pgm" for i in range(20)]
    for path in originals:
        Image.fromarray(rng.integers(0, 256, (SIDE, SIDE), dtype=np.uint8)).save(path)
    (tmp_path / "linked").mkdir()
    for i in range(PARTS * PART - 7):
        os.link(originals[i % 20], tmp_path / "linked" / f"{i:06d}.pgm")
    return tmp_path / "linked"


@pytest.mark.slow
def test_when_a_node_dies_the_file_is_that_of_one_machine(
    cluster: Any, linked: Path, tmp_path: Path
) -> None:
    saved = made_learner(tmp_path / "learner.safetensors")
    alone, out = tmp_path / "alone.parquet", tmp_path / "out" / "z.parquet"
    embed_images(saved, str(linked), alone)
    progress = KillWhenBusy(lambda: cluster.remove_node(cluster.lost, allow_graceful=False))
    embed_images(saved, str(linked), out, engine="ray", address=cluster.address, progress=progress)
    assert 0 < progress.done_before_kill < PARTS * PART - 7
    assert out.read_bytes() == alone.read_bytes()
    assert [path.name for path in out.parent.iterdir()] == ["z.parquet"]


def test_a_file_that_only_this_machine_can_read_is_not_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    Image.fromarray(np.zeros((SIDE, SIDE), np.uint8)).save(path)
    part = Part(np.empty((0, 0), np.float32), [Skipped(0, str(path), "no such file")])
    with pytest.raises(InputError, match="a disk that all nodes have"):
        _check_reach(Files("here", [path]), part, lambda piece: piece.decode(SIDE, SIDE))
