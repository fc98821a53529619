"""A folder of images: class sub-folders and split sub-folders are optional."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from scale._errors import InputError
from scale.data._imageset import ImageSet
from scale.data.decode import Encoded
from scale.data.decoded import decoded
from scale.data.registry import LoadOptions
from scale.data.splits import HELD_OUT, SPLITS, match_split
from scale.data.workers import Item

_CLUTTER = ("thumbs.db", "desktop.ini", "__macosx")


def load_folder(folder: Path, split: str, options: LoadOptions) -> ImageSet:
    """Load every file below `folder`, sorted by path; sub-folders are classes."""
    if options.label is not None:
        raise InputError(f"{folder} is a folder: its labels are its sub-folders, leave label out")
    splits = _split_folders(folder)
    root = splits[match_split(split, splits, str(folder))]
    # Numbered over all splits, so that a class missing from one does not shift the others.
    class_names = sorted({name for one in splits.values() for name in _class_folders(one)})
    files, labels = _files_and_labels(root, class_names)
    if not files:
        raise InputError(f"{root} has no files; put images in it, or in a sub-folder per class")
    encoded = Encoded(
        name=folder.resolve().name,
        source=str(root),
        total=len(files),
        items=lambda: _items(files),
        labels=np.array(labels, dtype=np.int64) if labels else None,
        class_names=tuple(class_names) if labels else (),
        identity=("folder", str(root.resolve())),
        fingerprint=fingerprint(files, root),
    )
    return decoded(encoded, options)


def fingerprint(files: list[Path], root: Path) -> str:
    """Return a digest of the names, sizes and modification times of `files`."""
    digest = hashlib.sha256()
    for file in files:
        try:
            state = file.stat()
            about = [state.st_size, state.st_mtime_ns]
        except OSError:  # A dangling link; decoding will name it.
            about = [-1, -1]
        digest.update(json.dumps([os.path.relpath(file, root), *about]).encode())
    return digest.hexdigest()


def _items(files: list[Path]) -> Iterator[Item]:
    return ((str(file), file) for file in files)


def _split_folders(folder: Path) -> dict[str, Path]:
    """Return the folder of each split; a folder that is not split is all train.

    Being called `train` is not enough: among `bus`, `car` and `train` it is a class.
    """
    names = {child.name for child in _visible(folder) if child.is_dir()}
    both = "train" in names and not names.isdisjoint(HELD_OUT)
    if names and (names <= set(SPLITS) or both):
        return {name: folder / name for name in SPLITS if name in names}
    return {"train": folder}


def _files_and_labels(root: Path, class_names: list[str]) -> tuple[list[Path], list[int]]:
    loose = [child for child in _visible(root) if not child.is_dir()]
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
    return [child.name for child in _visible(root) if child.is_dir() and any(walk(child))]


def walk(folder: Path, above: frozenset[Path] = frozenset()) -> Iterator[Path]:
    """Yield the files below a folder in order, through links but never round in circles."""
    here = folder.resolve()
    if here in above:
        return
    for child in _visible(folder):
        if child.is_dir():
            yield from walk(child, above | {here})
        else:
            yield child


def _visible(folder: Path) -> list[Path]:
    try:
        children = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"cannot read the folder {folder}: {error.strerror}") from error
    return [c for c in children if not c.name.startswith(".") and c.name.lower() not in _CLUTTER]
