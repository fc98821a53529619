"""Embeddings of new images with the encoder of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np

from scale._files import atomic_path
from scale.data import load_dataset
from scale.methods import load
from scale.runs.learner import load_learner

LUMA = np.array([0.299, 0.587, 0.114])


def embed_images(
    run: Path, images: str, out: Path, *, on_bad: Literal["stop", "skip"] = "stop"
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Write the embeddings of `images` to the .npy file `out`.

    Parameters
    ----------
    run
        Folder of a run, finished or not, or a saved learner.
    images
        Whatever `load_dataset` takes; brought to the size and the channels that the run had.
    out
        The file to write.
    on_bad
        What to do about files that are not readable images.

    Returns
    -------
    shape, skipped
        Shape of the embeddings, and the files that could not be read.
    """
    learner = load_learner(run) if run.is_dir() else load(run)
    assert learner.image_shape_ is not None
    channels, height, width = learner.image_shape_
    side = height if height == width else None
    found = load_dataset(images, "train", on_bad=on_bad, image_size=side)
    z = learner.transform(_with_channels(found.images, channels))
    with atomic_path(out) as part, open(part, "wb") as file:
        np.save(file, z)
    return z.shape, found.skipped


def _with_channels(images: np.ndarray, channels: int) -> np.ndarray:
    """Turn colour to grey or grey to colour when the run had the other."""
    if images.shape[1] == 1 and channels == 3:
        return np.repeat(images, 3, axis=1)
    if images.shape[1] == 3 and channels == 1:
        grey = np.einsum("nchw,c->nhw", images.astype(np.float32), LUMA)
        return np.asarray(grey.round().astype(np.uint8)[:, None])
    return images
