"""Load images from parquet files in the layout of the hub, and from saved arrow files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scale._errors import InputError
from scale.data._imageset import ImageSet
from scale.data.arrays import number_labels
from scale.data.cached_images import cached_images
from scale.data.columns import Columns
from scale.data.decode import Encoded, Item
from scale.data.listing import fingerprint, visible
from scale.data.registry import LoadOptions
from scale.data.splits import match_split
from scale.data.tables import Table, opened

_SHARD = re.compile(r"(?P<split>[A-Za-z_]+)-(?P<number>\d+)-of-(?P<total>\d+)")


def find_splits(folder: Path) -> dict[str, list[Path]]:
    """Return the files of each split: all `<split>-*.parquet` below `folder`, or saved arrow files.

    `save_to_disk` of the package `datasets` writes a `Dataset` beside `state.json`, and the splits
    of a `DatasetDict` into sub-folders beside `dataset_dict.json`.
    """
    if (folder / "state.json").is_file():
        return {"train": files} if (files := _arrow_files(folder)) else {}
    if (folder / "dataset_dict.json").is_file():
        saved = {one.name: _arrow_files(one) for one in visible(folder) if one.is_dir()}
        return {split: files for split, files in saved.items() if files}
    splits: dict[str, list[Path]] = {}
    for file in sorted(folder.rglob("*.parquet")):
        if file.is_file() and not file.name.startswith("."):
            splits.setdefault(file.name.split("-")[0].removesuffix(".parquet"), []).append(file)
    return splits


def _arrow_files(folder: Path) -> list[Path]:
    if (folder / "indices.arrow").exists():
        raise InputError(
            f"{folder} was saved by an old version of datasets, as rows of another table; load it "
            "with datasets and save it again"
        )
    return [file for file in visible(folder) if file.suffix == ".arrow"]


def load_parquet_folder(
    folder: Path, split: str, options: LoadOptions, name: str = "", first_classes: int | None = None
) -> ImageSet:
    """Return one split of a folder; with `first_classes`, only images with labels below it."""
    splits = find_splits(folder)
    files = splits[match_split(split, splits, str(folder))]
    check_shards(files)
    everything = [file for group in splits.values() for file in group]
    name = name or folder.resolve().name
    return load_parquet(files, options, name, first_classes, everything)


def load_parquet(
    files: list[Path],
    options: LoadOptions,
    name: str,
    first_classes: int | None = None,
    everything: list[Path] | None = None,
) -> ImageSet:
    """Return the images in the rows of `files`, in order.

    `everything` has the files of all splits. Labels that are words are numbered over all of them.
    """
    column = Columns.of_all(files, options.label)
    labels, class_names = read_labels(files, column, everything or files)
    rows = _count_rows(files)
    keep = np.ones(rows, dtype=bool)
    if first_classes is not None and labels is not None:
        keep = labels < first_classes
        class_names = class_names[:first_classes]
    if not keep.any():
        raise InputError(f"{files[0]} has no rows to load; give a file with images")
    root = files[0].parent
    encoded = Encoded(
        name=name,
        source=str(files[0] if len(files) == 1 else root),
        total=int(keep.sum()),
        items=lambda: encoded_rows(files, column.image, keep),
        labels=None if labels is None else labels[keep],
        class_names=class_names,
        identity=("parquet", [str(f.resolve()) for f in files], column.image, first_classes),
        fingerprint=fingerprint(files, root),
    )
    # Decoded pixels of a saved dataset at full size would be a second copy of it on disk.
    in_cache = files[0].suffix != ".arrow" or options.image_size is not None
    return cached_images(encoded, options, keep=in_cache)


def count_rows(files: list[Path], label: str | None, first_classes: int | None) -> int:
    """Return the number of images that `load_parquet` loads, without decoding any."""
    if first_classes is None:
        return _count_rows(files)
    labels, _ = read_labels(files, Columns.of_all(files, label), files)
    return 0 if labels is None else int((labels < first_classes).sum())


def read_labels(
    files: list[Path], column: Columns, everything: list[Path]
) -> tuple[npt.NDArray[np.int64] | None, tuple[str, ...]]:
    if column.label is None:
        return None, ()
    labels = _read_column(files, column.label)
    if not column.words and labels.size and (labels == -1).all():
        return None, ()  # The hub marks an unlabelled test split this way.
    if column.words:
        others = [file for file in everything if file not in files and _has_words(file, column)]
        words = np.unique(_read_column([*files, *others], column.label))
        return np.searchsorted(words, labels).astype(np.int64), tuple(str(one) for one in words)
    return number_labels(labels, str(files[0]), column.class_names)


def _read_column(files: list[Path], column: str) -> npt.NDArray[Any]:
    parts = []
    for file in files:
        with opened(file) as table:
            values = table.column(column)
            listed = values.to_pylist()
        if values.null_count:
            raise InputError(
                f"the label {column!r} of {file} is missing in some rows; fill in or drop them"
            )
        parts.append(np.array(listed, dtype=None if listed else np.int64))
    return np.concatenate(parts)


def _has_words(file: Path, column: Columns) -> bool:
    """Return whether a file of another split has the same label as words; a test may have none."""
    try:
        return Columns.of(file, column.label).words
    except InputError:
        return False


def encoded_rows(files: list[Path], image: str, keep: npt.NDArray[np.bool_]) -> Iterator[Item]:
    start = 0
    for file in files:
        with opened(file) as table:
            row = 0
            for group, rows in enumerate(table.groups):
                kept = keep[start + row : start + row + rows]
                if kept.any():
                    for at, content in _group_bytes(table, group, image):
                        if kept[at]:
                            yield f"row {row + at} of {file}", content
                row += rows
        start += row


def _group_bytes(table: Table, group: int, image: str) -> Iterator[tuple[int, bytes]]:
    at = 0
    for values in table.pieces(group, image):
        for one in values.field("bytes") if "." in image else values:
            yield at, one.as_py() or b""
            at += 1


def _count_rows(files: list[Path]) -> int:
    total = 0
    for file in files:
        with opened(file) as table:
            total += sum(table.groups)
    return total


def check_shards(files: list[Path]) -> None:
    """Refuse a split with missing files, and two datasets in one folder."""
    folders = sorted({file.parent for file in files})
    if len(folders) > 1:
        raise InputError(
            f"{folders[0]} and {folders[1]} both hold this split; point at one of them"
        )
    shards = [match for file in files if (match := _SHARD.match(file.name))]
    if shards and len(shards) != int(shards[0]["total"]):
        other = "copy" if files[0].suffix == ".arrow" else "get with `scale data get`"
        raise InputError(
            f"{files[0].parent} has {len(shards)} of the {int(shards[0]['total'])} files of split "
            f"{shards[0]['split']}; {other} the others"
        )
