"""A folder of images with labels: sub-folders are splits and classes; both are optional."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from scale._errors import InputError
from scale.data._imageset import ImageSet
from scale.data.cached_images import cached_images
from scale.data.decode import Encoded
from scale.data.listing import fingerprint, visible, walk
from scale.data.registry import LoadOptions
from scale.data.splits import HELD_OUT, SPLITS, match_split


def load_class_folder(folder: Path, split: str, options: LoadOptions) -> ImageSet:
    """Load every file below `folder`, sorted by path; the label is the sub-folder."""
    if options.label is not None:
        raise InputError(f"{folder} is a folder: its labels are its sub-folders, leave label out")
    splits = split_folders(folder)
    root = splits[match_split(split, splits, str(folder))]
    # Numbered over all splits: a class that is missing from one must not shift the others.
    class_names = sorted({name for one in splits.values() for name in _class_folders(one)})
    files, labels = _files_and_labels(root, class_names)
    if not files:
        raise InputError(f"{root} has no files; put images in it, or in a sub-folder per class")
    encoded = Encoded(
        name=folder.resolve().name,
        source=str(root),
        total=len(files),
        items=lambda: ((str(file), file) for file in files),
        labels=np.array(labels, dtype=np.int64) if labels else None,
        class_names=tuple(class_names) if labels else (),
        identity=("folder", str(root.resolve())),
        fingerprint=fingerprint(files, root),
    )
    return cached_images(encoded, options)


def split_folders(folder: Path) -> dict[str, Path]:
    """Return the folder of each split; a folder without splits is all train.

    The name `train` alone does not make a split: beside `bus` and `car` it is a class.
    """
    names = {child.name for child in visible(folder) if child.is_dir()}
    both = "train" in names and not names.isdisjoint(HELD_OUT)
    if names and (names <= set(SPLITS) or both):
        return {name: folder / name for name in SPLITS if name in names}
    return {"train": folder}


def _files_and_labels(root: Path, class_names: list[str]) -> tuple[list[Path], list[int]]:
    loose = [child for child in visible(root) if not child.is_dir()]
    classes = _class_folders(root)
    if loose and classes:
        raise InputError(
            f"{root} has both files ({loose[0].name}) and sub-folders ({classes[0]}); move the "
            f"files into a class's sub-folder, or point at one sub-folder"
        )
    if not classes:
        return loose, []
    pairs = [(f, class_names.index(one)) for one in classes for f in walk(root / one)]
    return [file for file, _ in pairs], [label for _, label in pairs]


def _class_folders(root: Path) -> list[str]:
    return [child.name for child in visible(root) if child.is_dir() and any(walk(child))]
