from __future__ import annotations

import os
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from scale._errors import InputError
from scale.data import load_dataset


def test_sub_folders_are_classes(class_folder: Path) -> None:
    loaded = load_dataset(class_folder)
    assert loaded.images.shape == (6, 3, 5, 6)
    assert loaded.class_names == ("cat", "dog")
    assert loaded.labels is not None
    assert loaded.labels.tolist() == [0, 0, 0, 1, 1, 1]
    first = np.asarray(Image.open(class_folder / "cat" / "0.png"))
    assert np.array_equal(loaded.images[0], first.transpose(2, 0, 1))


def test_a_flat_folder_is_unlabelled(class_folder: Path) -> None:
    loaded = load_dataset(str(class_folder / "cat"))
    assert (len(loaded), loaded.labels, loaded.class_names) == (3, None, ())


def test_clutter_is_ignored(class_folder: Path) -> None:
    for name in (".hidden", "Thumbs.db", ".DS_Store", "desktop.ini", "cat/.DS_Store"):
        (class_folder / name).write_bytes(b"clutter")
    assert len(load_dataset(class_folder)) == 6


def test_splits_share_the_numbers_of_classes(class_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(class_folder, tmp_path / "split" / "train")
    shutil.copytree(class_folder / "dog", tmp_path / "split" / "valid" / "dog")
    assert len(load_dataset(tmp_path / "split")) == 6
    held_out = load_dataset(tmp_path / "split", "test")
    assert held_out.labels is not None
    assert held_out.labels.tolist() == [1, 1, 1]
    assert held_out.class_names == ("cat", "dog")


def test_a_folder_without_splits_is_all_train(class_folder: Path) -> None:
    with pytest.raises(InputError, match="no split called 'test'; it has: train"):
        load_dataset(class_folder, "test")


def test_train_can_be_a_class(class_folder: Path) -> None:
    (class_folder / "cat").rename(class_folder / "train")
    assert load_dataset(class_folder).class_names == ("dog", "train")


@pytest.mark.parametrize("content", [b"some text", b"", b"\x89PNG\r\n\x1a\n"])
def test_a_bad_file_stops_and_is_named(class_folder: Path, content: bytes) -> None:
    (class_folder / "cat" / "notes.txt").write_bytes(content)
    with pytest.raises(InputError, match=r"notes\.txt.*--on-bad skip"):
        load_dataset(class_folder)


def test_bad_files_can_be_skipped_and_are_listed(class_folder: Path) -> None:
    bad = class_folder / "cat" / "1.png"
    bad.write_bytes(bad.read_bytes()[:40])
    (class_folder / "dog" / "gone.png").symlink_to("nowhere")
    os.mkfifo(class_folder / "dog" / "pipe.png")
    for _ in range(2):  # decoded, then from the cache
        loaded = load_dataset(class_folder, on_bad="skip")
        assert [Path(one).name for one in loaded.skipped] == ["1.png", "gone.png", "pipe.png"]
        assert loaded.labels is not None
        assert loaded.labels.tolist() == [0, 0, 1, 1, 1]
        assert len(loaded) == 5
    with pytest.raises(InputError, match=r"1\.png"):
        load_dataset(class_folder)


def test_a_bomb_is_skipped_without_a_warning(
    class_folder: Path, save_image: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_image(class_folder / "cat" / "bomb.png", np.zeros((50, 50), np.uint8))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 2000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = load_dataset(class_folder, on_bad="skip")
    assert [Path(one).name for one in loaded.skipped] == ["bomb.png"]


def test_nothing_readable_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("text")
    with pytest.raises(InputError, match="none of the 1 files"):
        load_dataset(tmp_path / "notes", on_bad="skip")


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no files"):
        load_dataset(tmp_path / "empty")


def test_files_beside_classes_are_refused(class_folder: Path, save_image: Any) -> None:
    save_image(class_folder / "preview.png", np.zeros((5, 6, 3), np.uint8))
    with pytest.raises(InputError, match=r"preview\.png"):
        load_dataset(class_folder)


def test_different_sizes_need_image_size(class_folder: Path, save_image: Any) -> None:
    save_image(class_folder / "dog" / "wide.png", np.zeros((20, 40, 3), np.uint8))
    with pytest.raises(InputError, match=r"wide\.png is 40 x 20 pixels.*image_size"):
        load_dataset(class_folder)
    assert load_dataset(class_folder, image_size=8).images.shape == (7, 3, 8, 8)


def test_grey_only_when_all_are_grey(tmp_path: Path, save_image: Any) -> None:
    for i in range(4):
        save_image(tmp_path / "mix" / f"{i}.png", np.full((5, 5), i, np.uint8))
    assert load_dataset(tmp_path / "mix").images.shape == (4, 1, 5, 5)
    save_image(tmp_path / "mix" / "9.png", np.full((5, 5, 3), 9, np.uint8))
    mixed = load_dataset(tmp_path / "mix")
    assert mixed.images.shape == (5, 3, 5, 5)
    assert mixed.images[:, 1, 0, 0].tolist() == [0, 1, 2, 3, 9]


def test_large_images_keep_their_order(tmp_path: Path, save_image: Any) -> None:
    for i in range(40):
        save_image(tmp_path / "large" / f"{i:02}.png", np.full((600, 600), i, np.uint8))
    seen: list[tuple[int, int]] = []
    loaded = load_dataset(tmp_path / "large", image_size=4, progress=lambda *at: seen.append(at))
    assert loaded.images[:, 0, 0, 0].tolist() == list(range(40))
    assert seen == sorted(seen)
    assert seen[-1] == (40, 40)


def test_a_link_to_a_folder_above_is_not_followed(class_folder: Path) -> None:
    (class_folder / "cat" / "round").symlink_to(class_folder / "cat")
    assert len(load_dataset(class_folder)) == 6
