from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scale._errors import DamagedFileError, InputError
from scale.data import as_images, load_dataset


def test_grey_images_need_no_channels(rng: np.random.Generator) -> None:
    grey = rng.integers(0, 256, (4, 6, 7), dtype=np.uint8)
    assert np.array_equal(as_images(grey), grey[:, None])


def test_four_channels_keep_their_values_when_resized(rng: np.random.Generator) -> None:
    deep = rng.integers(0, 256, (3, 8, 8, 4), dtype=np.uint8)
    deep[..., 3] = 0  # as alpha, it would erase the colours
    loaded = load_dataset(deep, image_size=4).images
    assert loaded.shape == (3, 4, 4, 4)
    assert np.array_equal(loaded[:, :3], load_dataset(deep[..., :3], image_size=4).images)
    assert np.array_equal(loaded, load_dataset(list(deep), image_size=4).images)


@given(st.integers(0, 255))
def test_floats_in_0_to_1_come_back_as_the_bytes_they_were(value: int) -> None:
    exact = np.full((1, 1, 5, 5), value, np.uint8)
    for dtype in (np.float32, np.float64):
        assert np.array_equal(as_images((exact / 255).astype(dtype)), exact)


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (np.zeros((480, 640, 3), np.uint8), r"images\[None\]"),
        (np.zeros((0, 5, 5), np.uint8), "empty"),
        (np.zeros((2, 5, 5), np.int64), "int64"),
        (np.full((2, 5, 5), np.nan), "NaN"),
        (np.full((2, 5, 5), 2.5), "in 0..1, got 2.5 to 2.5"),
        (np.array(["a"]), "shape"),
    ],
)
def test_other_arrays_are_refused(array: np.ndarray, says: str) -> None:
    with pytest.raises(InputError, match=says):
        load_dataset(array)


def test_npy_is_unlabelled_train(tmp_path: Path, rng: np.random.Generator) -> None:
    array = rng.integers(0, 256, (4, 3, 8, 8), dtype=np.uint8)
    np.save(tmp_path / "clip.npy", array)
    loaded = load_dataset(tmp_path / "clip.npy")
    assert np.array_equal(loaded.images, array)
    assert (loaded.labels, loaded.class_names, loaded.name) == (None, (), "clip")
    with pytest.raises(InputError, match="no split called 'test'"):
        load_dataset(tmp_path / "clip.npy", "test")


@pytest.mark.parametrize(
    ("images", "labels", "split"),
    [
        ("images", "labels", "train"),
        ("x", "y", "train"),
        ("images", "y", "train"),
        ("x_train", "y_train", "train"),
        ("x_test", "y_test", "test"),
        ("train_images", "train_labels", "train"),
        ("val_images", "val_labels", "test"),
    ],
)
def test_npz_is_read_under_the_usual_names(
    tmp_path: Path, images: str, labels: str, split: str
) -> None:
    array, numbers = np.zeros((3, 8, 8), np.uint8), np.array([[2], [0], [1]], np.uint8)
    np.savez(tmp_path / "a.npz", **{images: array, labels: numbers})
    loaded = load_dataset(tmp_path / "a.npz", split)
    assert loaded.images.shape == (3, 1, 8, 8)
    assert loaded.labels is not None
    assert loaded.labels.tolist() == [2, 0, 1]
    assert loaded.class_names == ("0", "1", "2")


def test_npz_labels_can_be_chosen_and_words(tmp_path: Path) -> None:
    array = np.zeros((3, 8, 8), np.uint8)
    np.savez(tmp_path / "a.npz", images=array, kind=np.array(["owl", "ant", "owl"]))
    assert load_dataset(tmp_path / "a.npz").labels is None
    chosen = load_dataset(tmp_path / "a.npz", label="kind")
    assert (chosen.labels.tolist(), chosen.class_names) == ([1, 0, 1], ("ant", "owl"))
    with pytest.raises(InputError, match="it has: images, kind"):
        load_dataset(tmp_path / "a.npz", label="colour")


@pytest.mark.parametrize("labels", [[0.5, 1, 2], [0, 1], [0, 1, 10**9]])
def test_npz_with_wrong_labels_is_refused(tmp_path: Path, labels: list[float]) -> None:
    np.savez(tmp_path / "a.npz", images=np.zeros((3, 8, 8), np.uint8), labels=np.array(labels))
    with pytest.raises(InputError):
        load_dataset(tmp_path / "a.npz")


def test_npz_without_images_says_what_it_has(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", weights=np.zeros(3))
    with pytest.raises(InputError, match="it has: weights"):
        load_dataset(tmp_path / "a.npz")


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
@pytest.mark.parametrize("content", [b"", b"no array at all", b"PK\x03\x04 no zip"])
def test_damaged_files_are_named(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DamagedFileError, match=name):
        load_dataset(tmp_path / name)


@pytest.mark.parametrize("name", ["a.npy", "a.npz"])
def test_pickled_objects_are_never_loaded(tmp_path: Path, name: str) -> None:
    array = np.array([{"run": "me"}], dtype=object)
    save = np.save if name == "a.npy" else lambda path, a: np.savez(path, images=a)
    save(tmp_path / name, array)
    with pytest.raises(DamagedFileError):
        load_dataset(tmp_path / name)
