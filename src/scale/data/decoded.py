"""Encoded images to an `ImageSet`: from the cache, through it, or without it."""

from __future__ import annotations

import os

import numpy as np
import numpy.typing as npt

from scale._errors import InputError, UnwritableError
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


def decoded(encoded: Encoded, options: LoadOptions, *, keep: bool = True) -> ImageSet:
    """Return the images, decoded once per machine as long as the source does not change.

    Parameters
    ----------
    keep
        Keep them in the cache; what is decoded in no time would only fill it.
    """
    entry = _cached(encoded, options) if keep else None
    if entry is None:
        entry = _decode_to_memory(encoded, options)
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
    """Return what the cache holds, decoded into it first; None when it cannot take the images."""
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


def _decode_to_memory(encoded: Encoded, options: LoadOptions) -> Entry:
    sink = _MemorySink(encoded.source)
    _, skipped = decode(encoded, options, sink)
    return Entry(np.concatenate(sink.blocks), skipped)


class _MemorySink:
    """Keeps blocks; refuses what cannot fit before it fills the machine."""

    def __init__(self, source: str) -> None:
        self._source = source
        self.blocks: list[npt.NDArray[np.uint8]] = []

    def start(self, nbytes: int) -> None:
        self.blocks.clear()
        if nbytes > _memory_bytes():
            raise InputError(
                f"the images of {self._source} need {nbytes / 1e9:.0f} GB when decoded, more than "
                f"this machine's memory or its cache can hold; pass a smaller image_size"
            )

    def write(self, block: npt.NDArray[np.uint8]) -> None:
        self.blocks.append(block)


def _memory_bytes() -> float:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return float("inf")
