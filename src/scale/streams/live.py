"""Images that keep arriving, grouped into batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from scale._errors import InputError

Images = npt.NDArray[np.uint8]
DEPTHS = (1, 3)


def batches(source: Iterable[Any], batch_size: int) -> Iterator[Images]:
    """Group what a camera, a video or a queue gives into batches for `partial_fit`.

    Parameters
    ----------
    source
        Anything that gives uint8 images: one at a time, (H, W), (H, W, C) or (C, H, W), or several,
        (N, H, W, C) or (N, C, H, W), with C = 1 or 3; all of one size. Arrays, Pillow images and
        CPU tensors will do. What it gives is copied, so a camera may reuse its buffer.
    batch_size
        Images in a batch. What is left when the source ends comes as a smaller last one.

    Yields
    ------
    ndarray of uint8
        (n, C, H, W), given as soon as it is full.

    Examples
    --------
    >>> camera = (np.zeros((4, 6, 3), np.uint8) for _ in range(5))
    >>> [batch.shape for batch in batches(camera, 2)]
    [(2, 3, 4, 6), (2, 3, 4, 6), (1, 3, 4, 6)]
    """
    if batch_size < 1:
        raise InputError(f"batch_size is {batch_size}; give at least 1")
    return _group(source, batch_size)


def _group(source: Iterable[Any], batch_size: int) -> Iterator[Images]:
    pending: Images | None = None  # (batch_size, C, H, W), of which `filled` are waiting
    filled = 0
    for number, item in enumerate(source):
        images = _channels_first(np.asarray(item), number)  # (N, C, H, W)
        if pending is None:
            pending = np.empty((batch_size, *images.shape[1:]), np.uint8)
        if images.shape[1:] != pending.shape[1:]:
            raise InputError(
                f"item {number} of the source has images of shape {images.shape[1:]} after ones of "
                f"{pending.shape[1:]}; bring all to one size"
            )
        while len(images):
            taken = images[: batch_size - filled]
            pending[filled : filled + len(taken)] = taken
            filled += len(taken)
            images = images[len(taken) :]
            if filled == batch_size:
                yield pending
                pending, filled = np.empty_like(pending), 0
    if pending is not None and filled:
        yield pending[:filled]


def _channels_first(item: npt.NDArray[Any], number: int) -> Images:
    """Give an image or a batch the shape (N, C, H, W), without copying."""
    if item.dtype != np.uint8:
        raise InputError(f"item {number} of the source is {item.dtype}; give uint8 in [0, 255]")
    if item.ndim == 2:
        return item[None, None]
    if item.ndim in (3, 4):
        images = item if item.ndim == 4 else item[None]
        if images.shape[1] in DEPTHS:
            return images
        if images.shape[3] in DEPTHS:
            return images.transpose(0, 3, 1, 2)
    raise InputError(
        f"item {number} of the source has shape {item.shape}; give (H, W), (H, W, C), (C, H, W), "
        "(N, H, W, C) or (N, C, H, W) with C = 1 or 3"
    )
