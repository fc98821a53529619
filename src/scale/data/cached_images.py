"""Encoded images to an `ImageSet`, through the cache of decoded images where possible."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from scale._errors import UnwritableError
from scale._machine import check_memory
from scale.data._imageset import ImageSet
from scale.data.cache import (
    CacheUnwritableError,
    Entry,
    build_entry,
    entry_path,
    read_entry,
    sole_builder,
)
from scale.data.decode import Encoded, decode, refuse
from scale.data.registry import LoadOptions


def cached_images(encoded: Encoded, options: LoadOptions, *, keep: bool = True) -> ImageSet:
    """Return the images. They are decoded again only when their files change.

    Parameters
    ----------
    encoded
        The images.
    options
        How to load them.
    keep
        Use the cache. False for a single image, which is decoded faster than it is cached, and for
        what must not be written to disk.
    """
    entry = _cached(encoded, options) if keep else None
    if entry is None:
        entry = _decode_to_memory(encoded, options, ", for which the cache has no space," * keep)
    if entry.skipped and options.on_bad == "stop":
        raise refuse(entry.skipped[0])
    labels = encoded.labels
    if labels is not None and entry.skipped:
        labels = np.delete(labels, [one.index for one in entry.skipped])
    return ImageSet(
        images=entry.images,
        labels=labels,
        class_names=encoded.class_names,
        name=encoded.name,
        source=encoded.source,
        skipped=tuple(one.name for one in entry.skipped),
    )


def _cached(encoded: Encoded, options: LoadOptions) -> Entry | None:
    """Return the cache's entry, built if it is missing; None if the cache cannot be written."""
    path = entry_path(encoded, options.image_size)
    entry = read_entry(path, encoded.fingerprint)
    if entry is not None:
        return entry
    try:
        with sole_builder(path):
            entry = read_entry(path, encoded.fingerprint)
            if entry is None:
                build_entry(path, encoded, options)
                entry = read_entry(path, encoded.fingerprint)
    except (OSError, UnwritableError, CacheUnwritableError):
        return None
    return entry


def _decode_to_memory(encoded: Encoded, options: LoadOptions, why: str) -> Entry:
    sink = _MemorySink(f"a copy of the decoded images of {encoded.source}{why}")
    _, skipped = decode(encoded, options, sink)
    return Entry(np.concatenate(sink.blocks), skipped)


class _MemorySink:
    """Keeps blocks in memory; refuses images that do not fit before it reads them all."""

    def __init__(self, what: str) -> None:
        self._what = what
        self.blocks: list[npt.NDArray[np.uint8]] = []

    def start(self, nbytes: int) -> None:
        self.blocks.clear()
        check_memory(nbytes, self._what, "pass a smaller image_size, or free some disk space")

    def write(self, block: npt.NDArray[np.uint8]) -> None:
        self.blocks.append(block)
