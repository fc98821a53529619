"""Decoding in processes gives what decoding here gives, whatever becomes of the processes."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from scale.data.pixels import BadImageError
from scale.data.workers import Item, Outcome, Workers, read_chunk


def png(seed: int, shape: tuple[int, ...] = (8, 8, 3)) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def items(tmp_path: Path) -> list[Item]:
    path = tmp_path / "on disk é.png"
    path.write_bytes(png(2))
    return [
        ("colour", png(0)),
        ("grey", png(1, (8, 8))),
        ("broken", png(3)[:60]),
        ("file", path),
        ("missing", tmp_path / "nothing.png"),
        ("empty", b""),
    ]


def assert_same(one: list[Outcome], other: list[Outcome]) -> None:
    for (name, a), (same_name, b) in zip(one, other, strict=True):
        assert name == same_name
        if isinstance(a, BadImageError):
            assert isinstance(b, BadImageError)
            assert str(a) == str(b)
        else:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("size", [None, 4])
def test_processes_return_what_decoding_here_returns(items, size):
    workers = Workers(1)
    try:
        for _ in range(2):
            assert_same(workers.read_chunk(items, size), read_chunk(items, size))
    finally:
        workers.close()


def test_a_killed_process_loses_nothing(items):
    workers = Workers(1)
    try:
        workers._all[0].kill()
        workers._all[0].wait()
        for _ in range(2):
            assert_same(workers.read_chunk(items, None), read_chunk(items, None))
    finally:
        workers.close()


def test_a_script_loads_a_large_folder_in_order_and_is_not_started_again(own_cache, tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    for grey in range(42):
        file = io.BytesIO()
        Image.new("L", (2, 2), grey).save(file, "PNG")
        for i in range(20):
            (folder / f"{20 * grey + i:05d}.png").write_bytes(file.getvalue())
    script = tmp_path / "script.py"  # without `if __name__ == "__main__"`
    script.write_text(f"""import scale
import scale.data.decode
scale.data.decode._WORTH_PROCESSES = 100  # else this folder would be too small for processes
images = scale.load_dataset({str(folder)!r}).images
print(images.shape, images[::20, 0, 0, 0].tolist() == list(range(42)))
""")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("(840, 1, 2, 2) True\n", "")
