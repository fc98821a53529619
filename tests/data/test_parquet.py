from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scale._errors import DamagedFileError, InputError
from scale.data import load_dataset

SHADES = [np.full((6, 6, 3), i, np.uint8) for i in range(10)]


@pytest.mark.parametrize("column", ["image", "img", "picture"])
def test_rows_labels_and_names_come_from_the_file(
    tmp_path: Path, write_parquet: Any, column: str
) -> None:
    labels = [i % 2 for i in range(10)]
    write_parquet(
        tmp_path / "set/data/train-00000-of-00001.parquet",
        SHADES, {"label": labels}, {"label": ["even", "odd", "unseen"]}, column,
    )  # fmt: skip
    loaded = load_dataset(tmp_path / "set")
    assert loaded.images[:, 0, 0, 0].tolist() == list(range(10))
    assert loaded.labels is not None
    assert loaded.labels.tolist() == labels
    assert loaded.class_names == ("even", "odd", "unseen")


def test_shards_are_read_in_order_and_all_must_be_there(tmp_path: Path, write_parquet: Any) -> None:
    for i in (1, 0):
        name = f"train-0000{i}-of-00002.parquet"
        write_parquet(tmp_path / "set" / name, SHADES[5 * i : 5 * i + 5], {"label": [i] * 5})
    assert load_dataset(tmp_path / "set").images[:, 0, 0, 0].tolist() == list(range(10))
    (tmp_path / "set" / "train-00000-of-00002.parquet").unlink()
    with pytest.raises(InputError, match="1 of the 2 files"):
        load_dataset(tmp_path / "set")


def test_one_file_can_be_given(tmp_path: Path, write_parquet: Any) -> None:
    path = write_parquet(tmp_path / "mine.parquet", SHADES, {"label": list(range(10))})
    assert load_dataset(path).num_classes == 10


def test_two_configurations_side_by_side_are_refused(tmp_path: Path, write_parquet: Any) -> None:
    for part in ("small", "large"):
        write_parquet(tmp_path / part / "train-0.parquet", SHADES, {"label": [0] * 10})
    with pytest.raises(InputError, match="point at one"):
        load_dataset(tmp_path)


def test_several_labels_must_be_chosen_from(tmp_path: Path, write_parquet: Any) -> None:
    labels = {"fine": list(range(10)), "coarse": [i // 5 for i in range(10)]}
    names = {"fine": [str(i) for i in range(10)], "coarse": ["low", "high"]}
    path = write_parquet(tmp_path / "a.parquet", SHADES, labels, names)
    with pytest.raises(InputError, match=r"several labels \(fine, coarse\)"):
        load_dataset(path)
    assert load_dataset(path, label="coarse").class_names == ("low", "high")
    with pytest.raises(InputError, match="no label column 'colour'; it has: fine, coarse"):
        load_dataset(path, label="colour")


def test_words_are_numbered_over_all_splits(tmp_path: Path, write_parquet: Any) -> None:
    write_parquet(tmp_path / "s/train-0.parquet", SHADES[:2], {"label": ["ant", "owl"]})
    write_parquet(tmp_path / "s/test-0.parquet", SHADES[:1], {"label": ["owl"]})
    held_out = load_dataset(tmp_path / "s", "test")
    assert (held_out.labels.tolist(), held_out.class_names) == ([1], ("ant", "owl"))


def test_a_split_labelled_minus_one_is_unlabelled(tmp_path: Path, write_parquet: Any) -> None:
    path = write_parquet(tmp_path / "a.parquet", SHADES, {"label": [-1] * 10})
    assert load_dataset(path).labels is None


@pytest.mark.parametrize("labels", [[0, None], [0.5, 1.0], [0, 7]])
def test_labels_that_do_not_fit_are_refused(
    tmp_path: Path, write_parquet: Any, labels: list[Any]
) -> None:
    path = write_parquet(
        tmp_path / "a.parquet", SHADES[:2], {"label": labels}, {"label": ["a", "b"]}
    )
    with pytest.raises(InputError):
        load_dataset(path)


@pytest.mark.parametrize("bad", [b"no image", None])
def test_a_bad_row_is_named_or_skipped(tmp_path: Path, write_parquet: Any, bad: Any) -> None:
    images = [*SHADES[:6], bad, *SHADES[7:]]
    path = write_parquet(tmp_path / "a.parquet", images, {"label": list(range(10))})
    with pytest.raises(InputError, match=r"row 6 of .*a\.parquet"):
        load_dataset(path)
    loaded = load_dataset(path, on_bad="skip")
    assert loaded.labels is not None
    assert loaded.labels.tolist() == [0, 1, 2, 3, 4, 5, 7, 8, 9]
    assert len(loaded.skipped) == 1


def test_a_damaged_file_is_named(tmp_path: Path, write_parquet: Any) -> None:
    path = write_parquet(tmp_path / "a.parquet", SHADES, {"label": [0] * 10})
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DamagedFileError, match=r"a\.parquet"):
        load_dataset(path)


def test_a_file_without_images_says_what_it_has(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="it has: text"):
        load_dataset(tmp_path / "a.parquet")
