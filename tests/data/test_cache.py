from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scale.data import load_dataset
from tests.processes import Started, start

LOAD = """
import hashlib, sys
from scale.data import load_dataset
loaded = load_dataset(sys.argv[1])
print(hashlib.sha256(loaded.images.tobytes() + loaded.labels.tobytes()).hexdigest())
"""

KILLED = """
import os, signal, sys
from scale.data import load_dataset
def die_halfway(done, total):
    if 2 * done >= total:
        os.kill(os.getpid(), signal.SIGKILL)
load_dataset(sys.argv[1], progress=die_halfway)
"""

NO_SPACE = """
import resource, sys
from scale.data import load_dataset
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
print(load_dataset(sys.argv[1]).images.shape)
"""


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory, write_parquet: Any) -> Path:
    """600 images: three chunks of the decoder."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (600, 8, 8, 3), dtype=np.uint8)
    labels = rng.integers(0, 10, 600).tolist()
    folder = tmp_path_factory.mktemp("parquet")
    path: Path = write_parquet(folder / "a.parquet", images, {"label": labels})
    return path


def run(code: str, path: Path) -> Started:
    return start(["-c", code, str(path)])


def decoded_calls(path: Path) -> int:
    """Load, and count how often images were decoded: not at all when the cache is used."""
    calls: list[int] = []
    load_dataset(path, progress=lambda done, total: calls.append(done))
    return len(calls)


def entry(cache: Path) -> Path:
    (one,) = (cache / "decoded").glob("*.images")
    return one


def test_the_second_load_decodes_nothing_and_is_equal(parquet: Path) -> None:
    first = load_dataset(parquet)
    assert decoded_calls(parquet) == 0
    assert np.array_equal(load_dataset(parquet).images, first.images)
    assert not first.images.flags.writeable


@pytest.mark.slow
def test_two_processes_at_once_agree(parquet: Path, own_cache: Path) -> None:
    both = [run(LOAD, parquet) for _ in range(2)]
    answers = {process.communicate()[0] for process in both}
    assert [process.returncode for process in both] == [0, 0]
    assert len(answers) == 1
    assert entry(own_cache).exists()


@pytest.mark.slow
def test_the_part_of_a_killed_process_is_deleted(parquet: Path, own_cache: Path) -> None:
    process = run(KILLED, parquet)
    assert process.wait() == -signal.SIGKILL
    decoded = own_cache / "decoded"
    assert list(decoded.glob(".*.part")), "it was killed before it wrote"
    assert not list(decoded.glob("*.images"))
    assert decoded_calls(parquet) > 0
    assert not list(decoded.glob(".*.part"))
    assert decoded_calls(parquet) == 0


@pytest.mark.parametrize("damage", ["truncated", "empty", "longer", "altered description"])
def test_a_damaged_entry_is_rebuilt(parquet: Path, own_cache: Path, damage: str) -> None:
    whole = load_dataset(parquet).images.copy()
    path = entry(own_cache)
    content = path.read_bytes()
    damaged = {
        "truncated": content[: len(content) // 2],
        "empty": b"",
        "longer": b"\0" + content,
        "altered description": content[:-60] + b"?" + content[-59:],
    }
    path.write_bytes(damaged[damage])
    assert np.array_equal(load_dataset(parquet).images, whole)
    assert path.read_bytes() == content


def test_a_changed_source_is_decoded_again_in_the_same_place(
    class_folder: Path, own_cache: Path, save_image: Any
) -> None:
    load_dataset(class_folder)
    save_image(class_folder / "cat" / "new.png", np.zeros((5, 6, 3), np.uint8))
    assert len(load_dataset(class_folder)) == 7
    save_image(class_folder / "cat" / "new.png", np.full((5, 6, 3), 9, np.uint8))
    os.utime(class_folder / "cat" / "new.png", ns=(1, 1))
    assert load_dataset(class_folder).images[3].max() == 9
    assert entry(own_cache).exists()


def test_sizes_have_entries_of_their_own(class_folder: Path, own_cache: Path) -> None:
    load_dataset(class_folder)
    load_dataset(class_folder, image_size=4)
    assert len(list((own_cache / "decoded").glob("*.images"))) == 2


def test_without_a_cache_images_are_decoded_in_memory(parquet: Path, own_cache: Path) -> None:
    own_cache.write_text("a file where the folder should be")
    assert load_dataset(parquet).images.shape == (600, 3, 8, 8)


@pytest.mark.slow
def test_on_a_full_disk_images_are_decoded_in_memory_and_no_part_is_left(
    parquet: Path, own_cache: Path
) -> None:
    process = run(NO_SPACE, parquet)
    assert process.communicate()[0].strip() == "(600, 3, 8, 8)"
    assert not [f for f in (own_cache / "decoded").iterdir() if f.suffix != ".lock"]


def test_the_cache_folder_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    from scale.data.cache import cache_folder

    monkeypatch.delenv("SCALE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/some/where")
    assert cache_folder() == Path("/some/where/scale")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert cache_folder() == Path("/home/me/.cache/scale")
