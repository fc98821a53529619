"""Datasets of the package `datasets`: as objects, streams, and folders of `save_to_disk`."""

from __future__ import annotations

import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

import scale
from scale._errors import DamagedFileError, InputError, NoSplitError
from scale.data import load_dataset
from scale.data.open_archive import open_archive

PIXELS = np.random.default_rng(0).integers(0, 256, (6, 8, 8, 3), dtype=np.uint8)
NCHW = PIXELS.transpose(0, 3, 1, 2)
LABELS = [0, 1, 2, 0, 1, 2]
NAMES = ["ant", "bee", "cat"]


def write_saved(folder: Path, *, shards: int = 2) -> Path:
    """Write what `Dataset.save_to_disk` of datasets 5.2 writes."""
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    features = {
        "photo": {"_type": "Image"},
        "kind": {"_type": "ClassLabel", "names": NAMES},
    }
    about = {"huggingface": json.dumps({"info": {"features": features}})}
    schema = pa.schema([("photo", kind), ("kind", pa.int64())], metadata=about)
    folder.mkdir(parents=True)
    for n, rows in enumerate(np.array_split(np.arange(6), shards)):
        cells = [{"bytes": encode(PIXELS[i]), "path": None} for i in rows]
        labels = [LABELS[i] for i in rows]
        batch = pa.record_batch([pa.array(cells, kind), pa.array(labels)], schema=schema)
        name = folder / f"data-{n:05d}-of-{shards:05d}.arrow"
        with pa.ipc.new_stream(name, schema) as file:
            file.write_batch(batch)
    (folder / "state.json").write_text("{}")
    (folder / "dataset_info.json").write_text("{}")
    return folder


def encode(pixels: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "PNG")
    return buffer.getvalue()


def test_a_saved_dataset_is_read_without_the_package(tmp_path: Path) -> None:
    found = load_dataset(write_saved(tmp_path / "saved"))
    np.testing.assert_array_equal(found.images, NCHW)
    assert found.labels is not None
    assert found.labels.tolist() == LABELS
    assert found.class_names == tuple(NAMES)


def test_the_splits_of_a_saved_dict_are_sub_folders(tmp_path: Path) -> None:
    for split in ("train", "validation"):
        write_saved(tmp_path / "saved" / split)
    (tmp_path / "saved/dataset_dict.json").write_text('{"splits": ["train", "validation"]}')
    assert len(load_dataset(tmp_path / "saved", "test")) == 6
    shutil.rmtree(tmp_path / "saved/validation")
    with pytest.raises(NoSplitError):
        load_dataset(tmp_path / "saved", "test")


def test_a_missing_arrow_file_is_told(tmp_path: Path) -> None:
    folder = write_saved(tmp_path / "saved")
    (folder / "data-00000-of-00002.arrow").unlink()
    with pytest.raises(InputError, match="1 of the 2 files"):
        load_dataset(folder)


def test_a_saved_dataset_is_embedded_row_by_row(tmp_path: Path) -> None:
    archive = open_archive(str(write_saved(tmp_path / "saved")), None, tmp_path / "list")
    piece = next(archive.pieces(1, 5, 10))
    np.testing.assert_array_equal(piece.decode(8, 8)[0], NCHW[1:5])


def test_damaged_arrow_files_are_refused_by_name(tmp_path: Path) -> None:
    good = (write_saved(tmp_path / "saved", shards=1) / "data-00000-of-00001.arrow").read_bytes()
    contents = {
        "zero": b"",
        "html": b"<html>" * 99,
        "half": good[: len(good) // 2],
        "file": b"ARROW1" + good,
    }
    for name, content in contents.items():
        path = tmp_path / f"{name}.arrow"
        path.write_bytes(content)
        with pytest.raises((DamagedFileError, InputError), match=name):
            load_dataset(path)


@pytest.fixture
def hf() -> Any:
    return pytest.importorskip("datasets")


@pytest.fixture
def dataset(hf: Any) -> Any:
    features = hf.Features({"photo": hf.Image(), "kind": hf.ClassLabel(names=NAMES)})
    rows = {"photo": [Image.fromarray(one) for one in PIXELS], "kind": LABELS}
    return hf.Dataset.from_dict(rows, features=features)


def test_a_dataset_goes_in_as_it_is(dataset: Any, own_cache: Path) -> None:
    found = load_dataset(dataset)
    np.testing.assert_array_equal(found.images, NCHW)
    assert found.labels is not None
    assert found.labels.tolist() == LABELS
    assert found.class_names == tuple(NAMES)
    assert not own_cache.exists()


def test_a_selection_a_format_and_a_resize_are_allowed(dataset: Any) -> None:
    found = load_dataset(dataset.select([4, 1]).with_format("numpy"), image_size=8)
    np.testing.assert_array_equal(found.images, NCHW[[4, 1]])


def test_a_dict_has_splits_and_a_dataset_has_none(hf: Any, dataset: Any) -> None:
    both = hf.DatasetDict({"train": dataset, "validation": dataset.select([0])})
    assert len(load_dataset(both, "test")) == 1
    with pytest.raises(NoSplitError):
        load_dataset(dataset, "test")
    with pytest.raises(InputError, match="several splits"):
        list(scale.batches(both, 2))


def test_files_are_read_where_they_are(hf: Any, class_folder: Path) -> None:
    files = sorted(map(str, class_folder.rglob("*.png")))
    dataset = hf.Dataset.from_dict({"image": files}).cast_column("image", hf.Image())
    expected = load_dataset(class_folder).images
    np.testing.assert_array_equal(load_dataset(dataset).images, expected)


def test_what_datasets_saves_is_read(hf: Any, dataset: Any, tmp_path: Path) -> None:
    dataset.select([5, 0, 3]).save_to_disk(tmp_path / "one", num_shards=2)
    found = load_dataset(tmp_path / "one")
    np.testing.assert_array_equal(found.images, NCHW[[5, 0, 3]])
    assert found.class_names == tuple(NAMES)
    hf.DatasetDict({"train": dataset, "test": dataset}).save_to_disk(tmp_path / "two")
    assert len(load_dataset(tmp_path / "two", "test")) == 6


def test_batches_take_datasets_and_streams(dataset: Any) -> None:
    for source in (dataset, dataset.to_iterable_dataset()):
        np.testing.assert_array_equal(np.concatenate(list(scale.batches(source, 4))), NCHW)


def test_a_stream_without_a_description_shows_its_column(hf: Any) -> None:
    def rows() -> Any:
        yield from ({"n": 1, "photo": Image.fromarray(one)} for one in PIXELS)

    stream = hf.IterableDataset.from_generator(rows)
    np.testing.assert_array_equal(next(scale.batches(stream, 6)), NCHW)
    with pytest.raises(InputError, match=r"scale\.batches"):
        load_dataset(stream)


def test_wrong_columns_are_refused(hf: Any, dataset: Any) -> None:
    with pytest.raises(InputError, match=r"no label column 'knid'.*kind"):
        load_dataset(dataset, label="knid")
    with pytest.raises(InputError, match="no column of images; it has: kind"):
        load_dataset(dataset.remove_columns("photo"))
    with pytest.raises(InputError, match="no column of images"):
        list(scale.batches(dataset.remove_columns("photo"), 2))
    with pytest.raises(InputError, match="no rows"):
        load_dataset(dataset.select([]))
    broken = hf.Dataset.from_dict({"image": [b"x"]}).cast_column("image", hf.Image())
    with pytest.raises(InputError, match="row 0 of the dataset: it is not an image"):
        load_dataset(broken)
