"""Arrays, in memory or in .npy and .npz files."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from scale._errors import DamagedFileError, InputError
from scale.data._imageset import ImageSet
from scale.data.registry import LoadOptions
from scale.data.splits import HELD_OUT, match_split

_MAX_CLASSES = 100_000


def as_images(array: npt.ArrayLike, name: str = "the array") -> npt.NDArray[np.uint8]:
    """Return images as uint8, N x C x H x W, C-contiguous.

    Accepts N x H x W, N x H x W x C and N x C x H x W with C = 1 or 3, uint8 or floats in 0 .. 1.

    Examples
    --------
    >>> as_images(np.zeros((5, 32, 32, 3), np.uint8)).shape
    (5, 3, 32, 32)
    """
    values = np.asarray(array)
    if values.size == 0:
        raise InputError(f"{name} is empty (shape {values.shape}); give at least one image")
    if values.ndim == 3 and values.shape[2] > 4:
        return np.ascontiguousarray(to_uint8(values, name))[:, None]  # (N, 1, H, W)
    if values.ndim != 4:
        hint = "; for a single image add a first axis" if values.ndim in (2, 3) else ""
        raise InputError(
            f"{name} has shape {values.shape}; expected N x H x W, N x H x W x C or "
            f"N x C x H x W{hint}"
        )
    first, last = values.shape[1] in (1, 3), values.shape[3] in (1, 3)
    if first == last:
        what = "both could be" if first else "neither is"
        raise InputError(
            f"{name} has shape {values.shape}: axes 1 and 3 are looked at for the 1 or 3 channels "
            f"and {what}; give N x C x H x W or N x H x W x C"
        )
    images = to_uint8(values, name)
    return np.ascontiguousarray(images if first else images.transpose(0, 3, 1, 2))


def to_uint8(values: npt.NDArray[Any], name: str) -> npt.NDArray[np.uint8]:
    """Return uint8 values as they are, and floats in 0 .. 1 rounded to 0 .. 255."""
    if values.dtype == np.uint8:
        return values
    if values.dtype.kind != "f":
        raise InputError(f"{name} is {values.dtype}; give uint8 in 0 .. 255 or floats in 0 .. 1")
    low, high = values.min(), values.max()  # NaN comes out of both
    if not np.isfinite([low, high]).all():
        raise InputError(f"{name} has NaN or infinite values; images must be finite")
    if low < 0 or high > 1:
        raise InputError(
            f"{name} has floats from {low:g} to {high:g}; they must be in 0 .. 1: give the "
            f"images before any normalisation, or convert them to uint8"
        )
    return np.rint(values.astype(np.float32) * 255).astype(np.uint8)


def as_labels(
    values: npt.ArrayLike, name: str, class_names: tuple[str, ...] = ()
) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """Return labels as int64 and a name for each class."""
    labels = np.asarray(values)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.dtype.kind == "U":
        names, labels = np.unique(labels, return_inverse=True)
        return labels.astype(np.int64), tuple(str(one) for one in names)
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or labels.size == 0:
        raise InputError(
            f"the labels of {name} are {labels.dtype} of shape {labels.shape}; expected one whole "
            f"number per image"
        )
    if labels.min() < 0 or labels.max() >= _MAX_CLASSES:
        raise InputError(
            f"the labels of {name} go from {labels.min()} to {labels.max()}; number the classes "
            f"from 0"
        )
    names_ = class_names or tuple(str(i) for i in range(int(labels.max()) + 1))
    return labels.astype(np.int64), names_


def load_npy(path: Path, split: str, options: LoadOptions) -> ImageSet:
    """Load a .npy file of images; it has no labels and is all train."""
    match_split(split, ["train"], str(path))
    if options.label is not None:
        raise InputError(f"{path} holds images only, so there is no label {options.label!r}")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(array, np.ndarray):
            raise ValueError("a .npz under the name of a .npy")
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise DamagedFileError(f"{path} is no .npy file of numbers; save it again") from error
    return ImageSet(as_images(array, str(path)), None, (), path.stem, str(path))


def load_npz(path: Path, split: str, options: LoadOptions) -> ImageSet:
    """Load a .npz file.

    Images are looked for under `x_<split>`, `<split>_images`, `images_<split>`, and for train
    also under `images` and `x`; labels under `options.label`, or the same with `y` and `labels`;
    names of classes, which are optional, under `class_names`.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            images_key = _find_key(file, "x", "images", split, str(path))
            labels_key = options.label or _labels_key(file, images_key)
            if labels_key is not None and labels_key not in file:
                raise InputError(f"{path} has no array {labels_key!r}; it has: {_keys(file)}")
            images = as_images(file[images_key], f"{path}[{images_key}]")
            raw = None if labels_key is None else file[labels_key]
            given = file["class_names"] if "class_names" in file else np.array([], dtype=str)
    except InputError:
        raise
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, KeyError) as error:
        raise DamagedFileError(f"{path} is no .npz file of numbers; save it again") from error
    if raw is None:
        return ImageSet(images, None, (), path.stem, str(path))
    labels, names = as_labels(raw, str(path), tuple(str(one) for one in given))
    return ImageSet(images, labels, names, path.stem, str(path))


def _find_key(file: Mapping[str, Any], short: str, long: str, split: str, where: str) -> str:
    keys = {one: _split_key(file, short, long, one) for one in ("train", *HELD_OUT)}
    found = {one: key for one, key in keys.items() if key is not None}
    if not found:
        raise InputError(
            f"{where} has no images: expected an array called images, x or x_train; it has: "
            f"{_keys(file)}"
        )
    return found[match_split(split, found, where)]


def _split_key(file: Mapping[str, Any], short: str, long: str, split: str) -> str | None:
    named = [f"{short}_{split}", f"{split}_{long}", f"{long}_{split}"]
    plain = [long, short] if split == "train" else []
    return next((key for key in named + plain if key in file), None)


def _labels_key(file: Mapping[str, Any], images_key: str) -> str | None:
    """Return the labels that go by the same pattern as the images that were found."""
    swapped = [
        images_key.replace("images", "labels"),
        "y" if images_key == "x" else images_key.replace("x_", "y_"),
        *(["labels", "y"] if images_key in ("images", "x") else []),
    ]
    return next((key for key in swapped if key != images_key and key in file), None)


def _keys(file: Mapping[str, Any]) -> str:
    return ", ".join(sorted(file)) or "nothing"
