"""Every damaged or foreign file is refused in one line that names it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from scale._errors import DamagedFileError, InputError
from scale.data import LoadOptions, image_files, load_dataset, load_files
from tests import damaged

KINDS = {
    "npy": damaged.damaged_npy,
    "npz": damaged.damaged_npz,
    "parquet": damaged.damaged_parquet,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


def refused(load: Callable[[], object], path: Path) -> str:
    with pytest.raises((InputError, DamagedFileError)) as caught:
        load()
    text = str(caught.value)
    assert path.stem in text
    assert "\n" not in text
    return text


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_data_is_refused_by_name(folder: Path, kind: str) -> None:
    for _, path in KINDS[kind](folder / kind):
        refused(lambda path=path: load_dataset(path), path)


def test_damaged_images_are_refused_alone_and_in_folders(folder: Path) -> None:
    for _, path in damaged.damaged_images(folder / "images"):
        files = image_files(str(path))
        assert files is not None
        refused(lambda files=files: load_files(files, LoadOptions()), path)
        inside = folder / path.name / "class"
        inside.mkdir(parents=True)
        shutil.copy(path, inside)
        refused(lambda inside=inside: load_dataset(inside.parent), path)


@pytest.mark.parametrize("name", ["x.npy", "x.npz", "x.parquet", "x.png"])
def test_what_is_no_regular_file_is_refused_and_never_waited_for(tmp_path: Path, name: str) -> None:
    for _, path in damaged.special_files(tmp_path, name):
        source = path.parent if path.suffix == ".png" else path
        refused(lambda source=source: load_dataset(source), source)


def test_absurd_sizes_are_refused_before_memory_is_taken(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=np.zeros((3, 8, 8), np.uint8))
    for size in (0, -1, 2.5, True, 20_000, 10**30, float("nan"), "32"):
        with pytest.raises(InputError, match="image_size must be"):
            load_dataset(tmp_path / "a.npz", image_size=size)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"resizing 5392 images to 8192 needs .* GB"):
        load_dataset("digits", image_size=8192)


def test_a_test_split_without_labels_does_not_hide_the_words_of_train(
    tmp_path: Path, write_parquet: Callable[..., Path], rng: np.random.Generator
) -> None:
    images = list(rng.integers(0, 256, (2, 5, 5), dtype=np.uint8))
    write_parquet(tmp_path / "train-00000-of-00001.parquet", images, {"label": ["b", "a"]})
    write_parquet(tmp_path / "test-00000-of-00001.parquet", images, {})
    train = load_dataset(tmp_path)
    assert train.labels is not None
    assert (train.labels.tolist(), train.class_names) == ([1, 0], ("a", "b"))
