"""Images from a camera, a video or a queue, grouped into batches."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from scale._errors import InputError, ScaleError
from scale._images import ImageShape, as_array, as_uint8, channels_first
from scale._machine import check_memory
from scale._numbers import check_number
from scale.data.load import LARGEST_SIDE, dataset_items
from scale.data.pixels import BadImageError, read_pixels, resize_all, to_pixels, to_rgb

Images = npt.NDArray[np.uint8]


def batches(
    source: Iterable[Any] | str | os.PathLike[str],
    batch_size: int,
    *,
    image_size: int | None = None,
) -> Iterator[Images]:
    """Group the images of a camera, a video or a queue into batches for `partial_fit`.

    Datasets that are decoded on the way go in, too: only one batch is in memory.

    Parameters
    ----------
    source
        An iterable of uint8 images of one size. An item is one image, (H, W), (H, W, C) or
        (C, H, W), or several, (N, H, W, C) or (N, C, H, W), with 1, 3 or 4 channels. It is an
        array, a tensor or a Pillow image, or such an image and its label, which is ignored. Items
        are copied, so a camera may reuse its buffer. Or a dataset: a ``datasets.Dataset`` or
        ``IterableDataset``, a view of FiftyOne, or the path of webdataset shards (a .tar file, a
        folder of them, or a pattern such as ``train-{000..003}.tar``). If the first image is in
        colour, grey ones become RGB.
    batch_size
        Images in a batch. When the source ends, the last batch may be smaller.
    image_size
        Resize all images to this side, as `load_dataset` does. Needed for images of several sizes.

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
    if image_size is not None:
        check_number("image_size", image_size, least=1, most=LARGEST_SIDE, whole=True)
    try:
        encoded = dataset_items(source)
        items = iter(source) if encoded is None else _decoded(encoded, image_size)  # type: ignore[arg-type]
    except ScaleError:
        raise
    except Exception as error:  # an object's own code may raise anything
        raise InputError(
            f"source must be an iterable of images, got {type(source).__name__}; "
            "give a list, an array or a generator"
        ) from error
    return _group(items, int(batch_size), image_size)


def _decoded(items: Iterator[tuple[str, Any]], image_size: int | None) -> Iterator[Any]:
    """Decode one image after the other; grey ones become RGB if the first one is in colour."""
    colour = False
    for at, (name, content) in enumerate(items):
        if not isinstance(content, bytes | Path):
            yield content
            continue
        try:
            pixels = read_pixels(content, image_size)
        except BadImageError as error:
            raise InputError(f"cannot read {name}: {error}; repair or remove it") from error
        colour = colour or (at == 0 and pixels.ndim == 3)
        yield to_rgb(pixels) if colour else pixels


def _group(source: Iterator[Any], batch_size: int, image_size: int | None) -> Iterator[Images]:
    pending: Images | None = None  # (batch_size, C, H, W); the first `filled` are set
    shape: ImageShape | None = None
    filled = 0
    for number, item in enumerate(source):
        given = _without_label(item)
        images = as_images(given, shape, f"item {number} of the source")  # (N, C, H, W)
        if image_size is not None:
            images = resize_all(images, int(image_size))
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


def _without_label(item: Any) -> Any:
    """Return the images of a pair (images, labels), as torch's datasets and loaders give them."""
    if not isinstance(item, tuple | list) or len(item) != 2 or isinstance(item[0], list | tuple):
        return item
    label = item[1]
    one = label is None or isinstance(label, int | str) or len(getattr(label, "shape", "ab")) <= 1
    return item[0] if one else item


def as_images(item: Any, image_shape: ImageShape | None, name: str) -> Images:
    """Return an image or a batch as (N, C, H, W)."""
    array = to_pixels(item) if isinstance(item, Image.Image) else as_array(item, name)
    images = as_uint8(array, name)
    if images.ndim == 2:
        return images[None, None]
    return channels_first(images[None] if images.ndim == 3 else images, image_shape, name)
