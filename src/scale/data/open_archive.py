"""Open a source of images as an archive, without loading it where its format allows that."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scale._errors import InputError
from scale.data.archive import (
    Archive,
    Array,
    Files,
    Members,
    Rows,
    digest_of_files,
    digest_of_images,
)
from scale.data.class_folder import split_folders
from scale.data.columns import Columns
from scale.data.file_list import FileList
from scale.data.hub import HubDataset, find_hub_folder, is_hub_id
from scale.data.listing import walk
from scale.data.load import load_dataset
from scale.data.npy import read_npy
from scale.data.parquet import check_shards, find_splits, read_labels
from scale.data.registry import DATASETS, OnBad
from scale.data.splits import match_split
from scale.data.tables import opened
from scale.data.webdataset import Index, shard_splits


def open_archive(
    source: str,
    split: str | None,
    listing: Path,
    *,
    image_size: int | None = None,
    on_bad: OnBad = "stop",
) -> Archive:
    """Return the images of a source in a fixed order.

    Folders, parquet, arrow and .npy files and shards are read bit by bit. A .npz file and the
    datasets of a user's own loader are loaded whole.

    Parameters
    ----------
    source
        An image, a folder of images, or another source of `load_dataset`.
    split
        By default all files below a folder of images, and the train split of other sources.
    listing
        File that keeps the list of a folder's files. If it exists, it is used: files that are new
        in the folder are left out.
    image_size, on_bad
        As for `load_dataset`, for sources that are loaded whole.
    """
    path = Path(source).expanduser()
    hub = _hub_dataset(source, path)
    if hub is not None:
        folder = find_hub_folder(hub.hub_id) or hub.download(None)
        return _rows_of_folder(folder, split, hub.card.label, hub.card.first_classes)
    shards = None if source in DATASETS else shard_splits(source)
    if shards is not None:
        files = shards[0][match_split(split or "train", shards[0], source)]
        return Members(source, Index.of(files, None), digest_of_files(files))
    if source not in DATASETS and path.is_dir():
        if find_splits(path):
            return _rows_of_folder(path, split)
        return _files(path, split, listing)
    if source not in DATASETS and path.exists():
        match path.suffix.lower():
            case ".parquet" | ".arrow":
                match_split(split or "train", ["train", path.name.split("-")[0]], str(path))
                return _rows([path], [path], str(path))
            case ".npy":
                match_split(split or "train", ["train"], str(path))
                return Array(str(path), _mapped(path), digest_of_files([path]))
            case suffix if suffix != ".npz" and split is None:
                return Files(str(path), [path], digest=digest_of_files([path]))
    found = load_dataset(source, split or "train", on_bad=on_bad, image_size=image_size)
    return Array(source, found.images, digest_of_images(found.images), found.skipped)


def _hub_dataset(source: str, path: Path) -> HubDataset | None:
    if source in DATASETS:
        loader = DATASETS[source]
        return loader if isinstance(loader, HubDataset) else None
    return HubDataset(source, source) if not path.exists() and is_hub_id(source) else None


def _files(folder: Path, split: str | None, listing: Path) -> Files:
    root = folder
    if split is not None:
        splits = split_folders(folder)
        root = splits[match_split(split, splits, str(folder))]
    if listing.is_file():
        files = FileList(listing)
    else:
        found = walk(root)
        first = next(found, None)
        if first is None:
            raise InputError(f"{root} has no files; put images in it, or give another folder")
        files = FileList.write(chain([first], found), listing)
    return Files(str(folder), files, root, files.digest)


def _rows_of_folder(
    folder: Path, split: str | None, label: str | None = None, first_classes: int | None = None
) -> Rows:
    splits = find_splits(folder)
    files = splits[match_split(split or "train", splits, str(folder))]
    check_shards(files)
    everything = [file for group in splits.values() for file in group]
    return _rows(files, everything, str(folder), label, first_classes)


def _rows(
    files: list[Path],
    everything: list[Path],
    source: str,
    label: str | None = None,
    first_classes: int | None = None,
) -> Rows:
    counts = list[int]()
    for file in files:
        with opened(file) as table:
            counts.append(sum(table.groups))
    chosen = np.arange(sum(counts))
    column = Columns.of_all(files, label)
    if first_classes is not None:
        labels, _ = read_labels(files, column, everything)
        chosen = chosen if labels is None else np.flatnonzero(labels < first_classes)
    if not len(chosen):
        raise InputError(f"{files[0]} has no rows to load; give a file with images")
    ends = np.cumsum(counts, dtype=np.int64)
    return Rows(source, tuple(files), column.image, ends, chosen, digest_of_files(files))


def _mapped(path: Path) -> npt.NDArray[Any]:
    array = read_npy(path)
    if array.ndim == 0 or array.size == 0:
        raise InputError(f"{path} is empty (shape {array.shape}); give at least one image")
    return array
