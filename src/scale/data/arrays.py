"""Arrays of images, in memory or in .npy and .npz files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from scale._errors import InputError
from scale._images import CHANNELS, as_array, as_uint8, channels_first, check_labels
from scale._names import did_you_mean
from scale.data._imageset import ImageSet
from scale.data.npy import open_npz, read_npy
from scale.data.registry import LoadOptions
from scale.data.splits import HELD_OUT, match_split

_MAX_CLASSES = 100_000


def as_images(array: npt.ArrayLike, name: str = "the array") -> npt.NDArray[np.uint8]:
    """Return images as uint8, N x C x H x W, C-contiguous.

    Accepts N x H x W, N x H x W x C and N x C x H x W with 1, 3 or 4 channels, uint8 or floats in
    0..1. `scale._images.channels_first` finds the axis of the channels.

    Examples
    --------
    >>> as_images(np.zeros((5, 32, 32, 3), np.uint8)).shape
    (5, 3, 32, 32)
    """
    values = as_array(array, name)
    if values.size == 0:
        raise InputError(f"{name} is empty (shape {values.shape}); give at least one image")
    if values.ndim == 3 and values.shape[2] > max(CHANNELS):
        values = values[:, None]  # (N, 1, H, W)
    return np.ascontiguousarray(as_uint8(channels_first(values, name=name), name, floats=True))


def number_labels(
    values: npt.ArrayLike, name: str, class_names: tuple[str, ...] = ()
) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """Return labels as int64 from 0, and a name for each class. Words are numbered in order."""
    labels = as_array(values, f"the labels of {name}")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.dtype.kind == "U":
        words, labels = np.unique(labels, return_inverse=True)
        return labels.astype(np.int64), tuple(str(one) for one in words)
    numbers = check_labels(labels, least=0, name=f"the labels of {name}")
    highest = int(numbers.max(initial=0))
    if highest >= _MAX_CLASSES:
        raise InputError(
            f"the labels of {name} must be below {_MAX_CLASSES}, got {highest}; number the classes "
            "from 0"
        )
    return numbers, class_names or tuple(str(i) for i in range(highest + 1))


def load_npy(path: Path, split: str, options: LoadOptions) -> ImageSet:
    """Load a .npy file of images: a train split without labels."""
    match_split(split, ["train"], str(path))
    if options.label is not None:
        raise InputError(f"{path} holds images only, so there is no label {options.label!r}")
    array = read_npy(path)
    return ImageSet(as_images(array, str(path)), None, (), path.stem, str(path))


def load_npz(path: Path, split: str, options: LoadOptions) -> ImageSet:
    """Load a .npz file.

    Images are `x_<split>`, `<split>_images` or `images_<split>`, for train also `images` or `x`.
    Labels are `options.label`, or the same names with `y` and `labels`. The array `class_names` is
    optional.
    """
    with open_npz(path) as file:
        images_key = _find_key(file.names, "x", "images", split, str(path))
        labels_key = options.label or _labels_key(file.names, images_key)
        if labels_key is not None and labels_key not in file.names:
            raise InputError(
                f"{path} has no array {labels_key!r}{did_you_mean(labels_key, file.names)}; "
                f"it has: {_listed(file.names)}"
            )
        images = as_images(file.read(images_key), f"{path}[{images_key}]")
        raw = None if labels_key is None else file.read(labels_key)
        given = file.read("class_names") if "class_names" in file.names else np.array([], dtype=str)
    if given.ndim != 1:
        raise InputError(f"class_names of {path} must be a list of names, got shape {given.shape}")
    if raw is None:
        return ImageSet(images, None, (), path.stem, str(path))
    labels, names = number_labels(raw, str(path), tuple(str(one) for one in given))
    return ImageSet(images, labels, names, path.stem, str(path))


def _find_key(keys: Sequence[str], short: str, long: str, split: str, where: str) -> str:
    by_split = {one: _split_key(keys, short, long, one) for one in ("train", *HELD_OUT)}
    found = {one: key for one, key in by_split.items() if key is not None}
    if not found:
        raise InputError(
            f"{where} has no images: expected an array called images, x or x_train; it has: "
            f"{_listed(keys)}"
        )
    return found[match_split(split, found, where)]


def _split_key(keys: Sequence[str], short: str, long: str, split: str) -> str | None:
    named = [f"{short}_{split}", f"{split}_{long}", f"{long}_{split}"]
    plain = [long, short] if split == "train" else []
    return next((key for key in named + plain if key in keys), None)


def _labels_key(keys: Sequence[str], images_key: str) -> str | None:
    """Return the labels whose name has the same pattern as that of the images."""
    swapped = [
        images_key.replace("images", "labels"),
        "y" if images_key == "x" else images_key.replace("x_", "y_"),
        *(["labels", "y"] if images_key in ("images", "x") else []),
    ]
    return next((key for key in swapped if key != images_key and key in keys), None)


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(keys) or "nothing"
