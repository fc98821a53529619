"""Some of the images in memory along a run, small, for its report."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple, TypeGuard

import numpy as np
import torch
from numpy.typing import NDArray

from scale._errors import DamagedFileError
from scale._files import atomic_path
from scale.data.npy import open_npz
from scale.memory import Buffer
from scale.runs.setting import Setting

FOLDER = "memory"
MOMENTS = 12  # evaluations at which a run keeps a sample
IMAGES = 60  # of a sample
SIDE = 32  # most pixels of a side
PARTS = 10  # of the stream, to count where the images came from


class Sample(NamedTuple):
    """Images in memory after `seen` images of the stream."""

    images: NDArray[np.uint8]
    """Some of the images, oldest first, (n, c, h, w) with sides of at most 32 pixels."""
    arrivals: NDArray[np.int64]
    """Where in the stream each came from, (n,)."""
    labels: NDArray[np.int64]
    """The class of each, -1 if it is not known, (n,)."""
    parts: NDArray[np.int64]
    """First and last position of each part of the stream, and how many images memory holds of
    it, (parts, 3)."""
    seen: int


def sampled(due: Collection[int]) -> set[int]:
    """Return those of the evaluations after the batches `due` at which a sample is kept.

    Examples
    --------
    >>> len(sampled(range(1, 101))), sampled({5, 10}) == {5, 10}
    (12, True)
    """
    points = sorted(due)
    return {points[i] for i in spread(len(points), MOMENTS)}


def keep_memory(setting: Setting, out: Path) -> None:
    """Write a sample of the memory of a run's learner, if it holds images."""
    memory = setting.learner.memory_
    if not holds_images(memory):
        return
    sample = take_sample(memory, setting.seen_before + setting.stream.num_samples, IMAGES)
    if setting.labels is not None:
        place = sample.arrivals - setting.seen_before
        known = (place >= 0) & (place < len(setting.labels))
        sample.labels[known] = setting.labels[place[known]]
    path = out / FOLDER / f"{setting.stream.cursor:010d}.npz"
    with atomic_path(path) as part, open(part, "wb") as file:
        np.savez_compressed(file, **sample._asdict())


def holds_images(memory: object) -> TypeGuard[Buffer]:
    """Return whether a learner's memory holds images."""
    return isinstance(memory, Buffer) and memory.images is not None and len(memory.images) > 0


def take_sample(memory: Buffer, total: int, most: int) -> Sample:
    """Return at most `most` images of a memory, evenly spread from the oldest to the newest.

    `total` is the number of images of the whole stream. No generator is used.
    """
    order = memory.arrivals.argsort(stable=True)
    chosen = order[torch.from_numpy(spread(len(order), most))]
    edges = np.linspace(0, total, min(PARTS, total) + 1).astype(np.int64)
    held, _ = np.histogram(memory.arrivals.numpy(), edges)
    return Sample(
        _small(memory.images[chosen]).numpy(),
        memory.arrivals[chosen].numpy(),
        np.full(len(chosen), -1),
        np.stack([edges[:-1], edges[1:], held], 1),
        int(memory.seen),
    )


def read_samples(folder: Path) -> list[Sample]:
    """Return the samples that a run has kept, oldest first."""
    samples = [_read(path) for path in sorted((folder / FOLDER).glob("[0-9]*.npz"))]
    if len({sample.images.shape[1:] for sample in samples}) > 1:
        raise DamagedFileError(f"{folder / FOLDER} holds samples of several runs; delete it")
    return samples


def spread(count: int, most: int) -> NDArray[np.int64]:
    """Return at most `most` of `count` indices, evenly spread, with the first and the last.

    Examples
    --------
    >>> spread(10, 4).tolist(), spread(2, 4).tolist()
    ([0, 3, 6, 9], [0, 1])
    """
    return np.linspace(0, count - 1, min(most, count)).astype(np.int64)


def _small(images: torch.Tensor) -> torch.Tensor:
    height, width = images.shape[-2:]
    shrink = SIDE / max(height, width)
    if shrink >= 1:
        return images
    size = [max(1, round(side * shrink)) for side in (height, width)]
    small = torch.nn.functional.interpolate(
        images.float(), size, mode="bilinear", antialias=True, align_corners=False
    )
    return small.round().to(torch.uint8)


def _read(path: Path) -> Sample:
    with open_npz(path) as stored:
        if set(Sample._fields) <= set(stored.names):
            images, arrivals, labels, parts, seen = (stored.read(name) for name in Sample._fields)
            rows = images.shape[:1]
            fits = arrivals.shape == labels.shape == rows and parts.shape[1:] == (3,)
            numbers = all(array.dtype.kind == "i" for array in (arrivals, labels, parts, seen))
            if fits and numbers and _are_small(images) and seen.shape == ():
                return Sample(images, arrivals, labels, parts, int(seen))
    raise DamagedFileError(f"{path} is not a sample of memory; delete it")


def _are_small(images: NDArray[np.uint8]) -> bool:
    shape = images.shape
    there = len(shape) == 4 and 0 < shape[0] <= IMAGES and shape[1] in (1, 3, 4)
    return there and images.dtype == np.uint8 and 0 < min(shape[2:]) <= max(shape[2:]) <= SIDE
