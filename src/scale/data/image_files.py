"""Load image files in a given order, without labels, for `scale embed`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from scale._errors import InputError
from scale._names import check_text, shown
from scale.data._imageset import ImageSet
from scale.data.cached_images import cached_images
from scale.data.decode import Encoded
from scale.data.listing import fingerprint, walk
from scale.data.parquet import find_splits
from scale.data.registry import DATASETS, LoadOptions
from scale.data.shards import find_shards

_NO_IMAGES = (".npy", ".npz", ".parquet", ".arrow", ".tar")


def image_files(source: str) -> list[Path] | None:
    """Return the image files that `source` names: one file, or all files below a folder, sorted.

    Return None if `source` is a dataset's name, arrays, parquet files, shards or missing.
    """
    path = Path(check_text("source", source)).expanduser()
    if source in DATASETS or not os.path.lexists(path):
        return None
    if not path.is_dir():
        return None if path.suffix.lower() in _NO_IMAGES else [path]
    if find_splits(path) or find_shards(path):
        return None
    files = list(walk(path))
    if not files:
        raise InputError(f"{path} has no files; put images in it, or give another folder")
    return files


def load_files(files: Sequence[Path], options: LoadOptions) -> ImageSet:
    """Load images from files, in that order and without labels."""
    if not isinstance(files, list | tuple) or not all(isinstance(file, Path) for file in files):
        raise InputError(f"files must be a list of paths, got {shown(files)}")
    if not files:
        raise InputError("files must have at least one path")
    root = files[0].parent
    names = [str(file) for file in files]
    encoded = Encoded(
        name=root.name if len(files) > 1 else files[0].name,
        source=str(root) if len(files) > 1 else names[0],
        total=len(files),
        items=lambda: zip(names, files, strict=True),
        labels=None,
        class_names=(),
        identity=("files", *(str(file.absolute()) for file in files)),
        fingerprint=fingerprint(list(files), root),
    )
    return cached_images(encoded, options, keep=len(files) > 1)
