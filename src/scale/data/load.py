"""Load an `ImageSet` from a name, a path or an object."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from scale._errors import InputError
from scale._files import check_file
from scale._names import check_one_of, check_text, shown
from scale._numbers import check_number
from scale.data._imageset import ImageSet
from scale.data.arrays import as_images, load_npy, load_npz
from scale.data.class_folder import load_class_folder
from scale.data.fiftyone_view import fiftyone_items, is_fiftyone, load_fiftyone
from scale.data.hf_dataset import hf_items, is_hf_dataset, load_hf_dataset
from scale.data.hub import HubDataset, is_hub_id
from scale.data.parquet import find_splits, load_parquet, load_parquet_folder
from scale.data.pixels import resize_all
from scale.data.registry import DATASETS, LoadOptions, OnBad, Progress
from scale.data.splits import SPLITS, match_split
from scale.data.torch_dataset import load_torch_dataset
from scale.data.video import SUFFIXES as VIDEOS
from scale.data.video import load_video
from scale.data.webdataset import load_webdataset, open_webdataset, shard_splits

LARGEST_SIDE = 8192  # pixels; Pillow refuses larger images as well


def load_dataset(
    dataset: Any,
    split: str = "train",
    *,
    label: str | None = None,
    image_size: int | None = None,
    on_bad: OnBad = "stop",
    progress: Progress | None = None,
) -> ImageSet:
    """Load images and their labels.

    Image files are turned upright by their EXIF orientation. Transparent ones are put on white, 16
    bits are scaled to 8, and CMYK becomes RGB. Animated images count as unreadable.

    Parameters
    ----------
    dataset
        A registered name; a hub id ``owner/name``; the path of a folder of images, a folder of
        parquet files in the hub's layout or of a saved ``datasets.Dataset``, a .parquet, .npy or
        .npz file, or a video, whose frames have no labels; webdataset shards as a .tar file, a
        folder of them or a pattern such as ``train-{000..003}.tar``; an array; or an object: a
        ``datasets.Dataset`` or ``DatasetDict``, a view of FiftyOne, or anything like a torch
        Dataset. A registered name wins over a folder of that name: write ``./digits`` for the
        folder.
    split
        ``train`` or the held-out split. test, val, valid and validation are the same if only one of
        them exists. Sources without splits are all train, and so are most objects; any other split
        raises `NoSplitError`.
    label
        The label to use if there are several: a column of a table, an array of a .npz file, a name
        in the .json of shards, a field of FiftyOne.
    image_size
        Resize all images to this side, 1 to 8192: the short side is scaled, the centre is cropped.
        Needed if images have different sizes.
    on_bad
        ``"stop"`` at a file that cannot be read, or ``"skip"`` it and list it in `skipped`.
    progress
        Called with (done, total) while images are decoded.

    Examples
    --------
    >>> digits = load_dataset("digits", "test")
    >>> digits.images.shape, digits.num_classes
    ((898, 1, 28, 28), 10)
    """
    options = LoadOptions(label, image_size, on_bad, progress)
    _check_options(split, options)
    found = _load(dataset, split, options)
    if image_size is None:
        return found
    return replace(found, images=resize_all(found.images, image_size))


def dataset_items(source: Any) -> Iterator[tuple[str, Any]] | None:
    """Return the images of a dataset with their names, to be read one by one.

    They are encoded, or images as they are. Return None if `source` is no dataset of shards, of the
    package `datasets` or of FiftyOne.
    """
    if isinstance(source, str | os.PathLike):
        text = os.fspath(source)
        shards = shard_splits(text)
        if shards is None:
            raise InputError(
                f"{shown(text)} has no shards (.tar) to read one by one; load it with load_dataset"
            )
        files = shards[0][match_split("train", shards[0], text)]
        return open_webdataset({"train": files}, "train", None, shards[1], text).items()
    if is_hf_dataset(source):
        return hf_items(source)
    return fiftyone_items(source) if is_fiftyone(source) else None


def _check_options(split: object, options: LoadOptions) -> None:
    check_one_of("on_bad", options.on_bad, ("stop", "skip"))
    if options.image_size is not None:
        check_number("image_size", options.image_size, least=1, most=LARGEST_SIDE, whole=True)
    if not isinstance(split, str) or not split:
        known = ", ".join(SPLITS)
        raise InputError(f"split must be a name such as {known}, got {shown(split)}")
    if options.label is not None:
        check_text("label", options.label)
    if options.progress is not None and not callable(options.progress):
        raise InputError(f"progress must be a function, got {shown(options.progress)}")


def _load(dataset: Any, split: str, options: LoadOptions) -> ImageSet:
    if isinstance(dataset, str):
        return _load_named(dataset, split, options)
    if isinstance(dataset, os.PathLike):
        return _load_path(Path(dataset), split, options)
    if is_hf_dataset(dataset):
        return load_hf_dataset(dataset, split, options)
    # One object as both train and test would leak the test images.
    match_split(split, ["train"], f"an object of type {type(dataset).__name__}")
    if isinstance(dataset, np.ndarray):
        if options.label is not None:
            raise InputError("an array of images has no labels; leave label out")
        return ImageSet(as_images(dataset), None, (), "array", "an array in memory")
    if is_fiftyone(dataset):
        return load_fiftyone(dataset, options)
    if hasattr(dataset, "__len__") and hasattr(dataset, "__getitem__"):
        return load_torch_dataset(dataset, options)
    raise InputError(
        f"a {type(dataset).__name__} is not a dataset; give a name, a path, an array or an object "
        f"with len() and items"
    )


def _load_named(text: str, split: str, options: LoadOptions) -> ImageSet:
    if text in DATASETS:
        return DATASETS[text](split, options)
    path = Path(text).expanduser()
    if text and (path.exists() or path.suffix.lower() == ".tar"):
        return _load_path(path, split, options)
    if is_hub_id(text):
        return HubDataset(text, text)(split, options)
    if "/" in text or os.sep in text or path.suffix:
        return _load_path(path, split, options)
    return DATASETS[text](split, options)  # Raises the error that lists the known names.


def _load_path(path: Path, split: str, options: LoadOptions) -> ImageSet:
    shards = shard_splits(path)
    if shards is not None:
        return load_webdataset(shards[0], split, options, shards[1], str(path))
    if path.is_dir():
        if find_splits(path):
            return load_parquet_folder(path, split, options)
        return load_class_folder(path, split, options)
    if not os.path.lexists(path):
        raise InputError(f"there is no file or folder {path}; check the path")
    check_file(path)
    match path.suffix.lower():
        case ".parquet" | ".arrow":
            match_split(split, ["train", path.name.split("-")[0]], str(path))
            return load_parquet([path], options, path.stem)
        case ".npy":
            return load_npy(path, split, options)
        case ".npz":
            return load_npz(path, split, options)
    if path.suffix.lower() in VIDEOS:
        return load_video(path, split, options)
    raise InputError(
        f"{path} is not a dataset; give a folder of images, a .parquet, .npy or .npz file, shards "
        "(.tar), or a video"
    )
