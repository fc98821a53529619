"""A stream: batches of images without labels, in a given order, once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from scale._errors import InputError
from scale._images import as_array
from scale._names import shown
from scale._numbers import check_number
from scale.streams._registry import Indices

Images = npt.NDArray[np.uint8]


class Stream:
    """Batches of images in the order of a stream: one pass, without labels, resumable.

    Parameters
    ----------
    images
        uint8, (N, C, H, W). They are copied batch by batch, so they may be a memory map.
    order
        Indices into `images`, each at most once, as from `make_order`. None takes all, in order.
    batch_size
        Images in a batch; the last one may be smaller.

    Examples
    --------
    >>> stream = Stream(np.zeros((5, 1, 2, 2), np.uint8), batch_size=2)
    >>> len(stream), [len(batch) for batch in stream], stream.cursor
    (3, [2, 2, 1], 5)
    >>> stream.seek(3)
    >>> [len(batch) for batch in stream]
    [2]
    """

    def __init__(
        self,
        images: Images,
        order: npt.NDArray[np.integer[Any]] | None = None,
        batch_size: int = 128,
    ) -> None:
        if not isinstance(images, np.ndarray) or isinstance(images, np.ma.MaskedArray):
            raise InputError(f"images must be an array, got {type(images).__name__}")
        if images.dtype != np.uint8 or images.ndim != 4:
            raise InputError(
                f"images are {images.dtype} of shape {images.shape}; give uint8, (N, C, H, W)"
            )
        check_number("batch_size", batch_size, least=1, whole=True)
        self.images = images
        self.order = _check_order(order, len(images))
        self.batch_size = int(batch_size)
        self._cursor = 0

    @property
    def num_samples(self) -> int:
        """Number of images in the whole stream."""
        return len(self.order)

    @property
    def cursor(self) -> int:
        """Number of images given so far; pass it to `seek` to resume."""
        return self._cursor

    def seek(self, cursor: int) -> None:
        """Continue after the first `cursor` images."""
        check_number("cursor", cursor, whole=True)
        if not 0 <= cursor <= self.num_samples:
            raise InputError(
                f"cursor {shown(cursor)} is outside of the stream's {self.num_samples} images; "
                "give the cursor of a stream over the same data"
            )
        self._cursor = int(cursor)

    def __len__(self) -> int:
        """Number of batches in the whole stream."""
        return -(-self.num_samples // self.batch_size)

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Images:
        chosen = self.order[self._cursor : self._cursor + self.batch_size]
        if len(chosen) == 0:
            raise StopIteration
        batch = np.ascontiguousarray(self.images[chosen])  # (n, C, H, W), a copy
        self._cursor += len(chosen)
        return batch


def _check_order(order: npt.NDArray[np.integer[Any]] | None, available: int) -> Indices:
    if order is None:
        return np.arange(available, dtype=np.int64)
    array = as_array(order, "order")
    if array.ndim != 1 or not (np.issubdtype(array.dtype, np.integer) or array.size == 0):
        raise InputError(
            f"order is {array.dtype} of shape {array.shape}; give a list of indices of images"
        )
    if array.size and (array.min() < 0 or array.max() >= available):
        raise InputError(
            f"order has indices from {array.min()} to {array.max()}; there are {available} images"
        )
    if len(np.unique(array)) < len(array):
        raise InputError("order has an index twice; a stream gives each image at most once")
    return array.astype(np.int64)
