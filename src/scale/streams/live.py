"""Images from a camera, a video or a queue, grouped into batches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from scale._errors import InputError
from scale._images import ImageShape, as_array, as_uint8, channels_first
from scale._machine import check_memory
from scale._numbers import check_number
from scale.data.pixels import to_pixels

Images = npt.NDArray[np.uint8]


def batches(source: Iterable[Any], batch_size: int) -> Iterator[Images]:
    """Group the images of a camera, a video or a queue into batches for `partial_fit`.

    Parameters
    ----------
    source
        An iterable of uint8 images of one size. An item is one image, (H, W), (H, W, C) or
        (C, H, W), or several, (N, H, W, C) or (N, C, H, W), with 1, 3 or 4 channels. It is an
        array, a tensor or a Pillow image. Items are copied, so a camera may reuse its buffer.
    batch_size
        Images in a batch. When the source ends, the last batch may be smaller.

    Yields
    ------
    ndarray of uint8
        (n, C, H, W), as soon as the batch is full.

    Examples
    --------
    >>> camera = (np.zeros((8, 6, 3), np.uint8) for _ in range(5))
    >>> [batch.shape for batch in batches(camera, 2)]
    [(2, 3, 8, 6), (2, 3, 8, 6), (1, 3, 8, 6)]
    """
    check_number("batch_size", batch_size, least=1, whole=True)
    try:
        items = iter(source)
    except Exception as error:  # an object's own code may raise anything
        raise InputError(
            f"source must be an iterable of images, got {type(source).__name__}; "
            "give a list, an array or a generator"
        ) from error
    return _group(items, int(batch_size))


def _group(source: Iterator[Any], batch_size: int) -> Iterator[Images]:
    pending: Images | None = None  # (batch_size, C, H, W); the first `filled` are set
    shape: ImageShape | None = None
    filled = 0
    for number, item in enumerate(source):
        images = as_images(item, shape, f"item {number} of the source")  # (N, C, H, W)
        if pending is None or shape is None:
            shape = images.shape[1], images.shape[2], images.shape[3]
            needed = batch_size * math.prod(shape)
            check_memory(needed, f"a batch of {batch_size} images", "use a smaller batch_size")
            pending = np.empty((batch_size, *shape), np.uint8)
        if images.shape[1:] != shape:
            raise InputError(
                f"item {number} of the source has images of shape {images.shape[1:]} after images "
                f"of {shape}; resize all to one size"
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


def as_images(item: Any, image_shape: ImageShape | None, name: str) -> Images:
    """Return an image or a batch as (N, C, H, W)."""
    array = to_pixels(item) if isinstance(item, Image.Image) else as_array(item, name)
    images = as_uint8(array, name)
    if images.ndim == 2:
        return images[None, None]
    return channels_first(images[None] if images.ndim == 3 else images, image_shape, name)
