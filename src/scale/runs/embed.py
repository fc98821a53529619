"""Embeddings of new images with the encoder of a run."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from scale._files import atomic_path, write_atomic
from scale.data import LoadOptions, image_files, load_dataset, load_files
from scale.methods import load
from scale.runs.learner import load_learner

LUMA = np.array([0.299, 0.587, 0.114])


class Embedded(NamedTuple):
    """The output of `embed_images`."""

    shape: tuple[int, ...]
    """Shape of the embeddings."""
    names: Path | None
    """File with the name of each row's image, one per line; None for images without names."""
    skipped: tuple[str, ...]
    """Files that could not be read."""


def embed_images(
    run: Path,
    images: str,
    out: Path,
    *,
    split: str | None = None,
    on_bad: Literal["stop", "skip"] = "stop",
    warn: Callable[[str], None] = warnings.warn,
) -> Embedded:
    """Write the embeddings of `images` to the .npy file `out`.

    For z.npy, the names of image files are in z.files.txt.

    Parameters
    ----------
    run
        Folder of a run, finished or not, or a saved learner.
    images
        An image, a folder of images, or another source of `load_dataset`. Images are converted to
        the size and the channels of the run.
    out
        The file to write.
    split
        Split to embed. By default all images below a folder, in the order of their paths, and the
        train split of other sources.
    on_bad
        Stop at a file that is not a readable image, or skip it.
    warn
        Called with a message for each damaged checkpoint.
    """
    learner = load_learner(run, warn) if run.is_dir() else load(run)
    assert learner.image_shape_ is not None
    channels, height, width = learner.image_shape_
    side = height if height == width else None
    files = image_files(images) if split is None else None
    if files is None:
        found = load_dataset(images, split or "train", on_bad=on_bad, image_size=side)
    else:
        found = load_files(files, LoadOptions(image_size=side, on_bad=on_bad))
    z = learner.transform(_with_channels(found.images, channels))
    with atomic_path(out) as part:
        with open(part, "wb") as file:
            np.save(file, z)
        names = None if files is None else _write_names(files, found.skipped, out)
    return Embedded(z.shape, names, found.skipped)


def _write_names(files: list[Path], skipped: tuple[str, ...], out: Path) -> Path:
    left_out = set(skipped)
    lines = [os.fsencode(file) + b"\n" for file in files if str(file) not in left_out]
    path = out.with_suffix(".files.txt")
    write_atomic(path, b"".join(lines))
    return path


def _with_channels(images: np.ndarray, channels: int) -> np.ndarray:
    """Convert colour to grey, or grey to colour, to match the run."""
    if images.shape[1] == 1 and channels == 3:
        return np.repeat(images, 3, axis=1)
    if images.shape[1] == 3 and channels == 1:
        grey = np.einsum("nchw,c->nhw", images.astype(np.float32), LUMA)
        return np.asarray(grey.round().astype(np.uint8)[:, None])
    return images
