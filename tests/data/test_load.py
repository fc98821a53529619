from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scale._errors import InputError, NoSplitError, UnknownNameError
from scale.data import ImageSet, LoadOptions, load_dataset, register_dataset


def test_datasets_and_streams_are_listed_without_heavy_libraries() -> None:
    code = (
        "import sys; from scale.data import DATASETS; from scale.streams import STREAMS; "
        "assert 'digits' in list(DATASETS) and 'seq' in list(STREAMS); "
        "print([m for m in ('torch', 'sklearn', 'pyarrow', 'huggingface_hub') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_name_close_to_a_known_one_is_suggested() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'cifar10'"):
        load_dataset("cifar-10")


@pytest.mark.parametrize("path", ["/no/where", "./here", "clip.npz", Path("digits")])
def test_a_path_that_is_not_there_is_named(path: Any) -> None:
    with pytest.raises(InputError, match="no file or folder"):
        load_dataset(path)


def test_what_looks_like_a_hub_id_says_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SCALE_DATA", raising=False)
    with pytest.raises(InputError, match="scale data get photos/holiday"):
        load_dataset("photos/holiday")


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,2")
    with pytest.raises(InputError, match=r"\.parquet, \.npy or \.npz"):
        load_dataset(tmp_path / "a.csv")


@pytest.mark.parametrize(
    "options",
    [{"on_bad": "ignore"}, {"image_size": 0}, {"image_size": 2.5}, {"split": ""}],
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        load_dataset("digits8", **options)


def test_something_else_is_refused() -> None:
    with pytest.raises(InputError, match="a int is not a dataset"):
        load_dataset(3)


@pytest.mark.parametrize("images", [np.zeros((2, 8, 8), np.uint8), [np.zeros((8, 8), np.uint8)]])
def test_an_object_is_train_and_nothing_else(images: Any) -> None:
    assert load_dataset(images).images.shape[1:] == (1, 8, 8)
    with pytest.raises(NoSplitError):
        load_dataset(images, "test")


def test_image_size_applies_to_every_source() -> None:
    assert load_dataset("digits8", "test", image_size=16).images.shape == (449, 1, 16, 16)
    colour = np.zeros((2, 10, 20, 3), np.uint8)
    assert load_dataset(colour, image_size=6).images.shape == (2, 3, 6, 6)


def test_a_registered_loader_gets_split_and_options() -> None:
    asked: list[tuple[str, LoadOptions]] = []

    @register_dataset("test-load-mine")
    def mine(split: str, options: LoadOptions) -> ImageSet:
        asked.append((split, options))
        return ImageSet(np.zeros((1, 1, 8, 8), np.uint8), None, (), "mine", "here")

    assert load_dataset("test-load-mine", "val", label="x").name == "mine"
    assert asked == [("val", LoadOptions(label="x"))]
