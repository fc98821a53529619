"""Many encoded images to blocks of pixels: in order, in parallel where that pays, bounded."""

from __future__ import annotations

import os
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from scale._errors import InputError
from scale.data.pixels import (
    BadImageError,
    Pixels,
    open_image,
    stack_pixels,
    to_rgb,
)
from scale.data.registry import LoadOptions
from scale.data.workers import Item, Outcome, Workers, read_chunk

# Below this many pixels threads pass the interpreter's lock around more than it is released, and
# processes decode; below so many images those are not worth starting: two take 5.5 s for 50,000
# CIFAR images where one takes 7.6 s, but 1.7 s for 5,000 where one takes 0.8 s.
_WORTH_THREADS = 128 * 128
_WORTH_PROCESSES = 20_000
_PIXELS_PER_CHUNK = 1 << 22


@dataclass(frozen=True)
class Encoded:
    """Images that are still encoded.

    `identity` says which images are meant (and names their cache entry); `fingerprint` says what
    state their files are in, and changes when the files do.
    """

    name: str
    source: str
    total: int
    items: Callable[[], Iterator[Item]]
    labels: npt.NDArray[np.int64] | None
    class_names: tuple[str, ...]
    identity: tuple[Any, ...]
    fingerprint: str


@dataclass(frozen=True)
class Skipped:
    """An image that could not be read: its position, its name and the reason."""

    index: int
    name: str
    reason: str


class Sink(Protocol):
    """Where decoded blocks go."""

    def start(self, nbytes: int) -> None: ...
    def write(self, block: npt.NDArray[np.uint8]) -> None: ...


class _ColourFoundError(Exception):
    """A colour image among those taken to be grey."""


def decode(
    encoded: Encoded, options: LoadOptions, sink: Sink
) -> tuple[tuple[int, ...], list[Skipped]]:
    """Write all images to `sink` and return their common shape (C, H, W) and the bad ones."""
    with warnings.catch_warnings():
        # A bad image is reported once, by us; Pillow's remarks on odd ones help nobody.
        warnings.filterwarnings("ignore", module="PIL")
        try:
            return _decode_pass(encoded, options, sink, grey=True)
        except _ColourFoundError:
            return _decode_pass(encoded, options, sink, grey=False)


def refuse(bad: Skipped) -> InputError:
    """Return the error for an image that cannot be read when the caller wants to stop."""
    return InputError(
        f"cannot read {bad.name}: {bad.reason}; repair or remove it, or go on without such files "
        f"with on_bad='skip' (--on-bad skip)"
    )


def _decode_pass(
    encoded: Encoded, options: LoadOptions, sink: Sink, *, grey: bool
) -> tuple[tuple[int, ...], list[Skipped]]:
    done, skipped = 0, list[Skipped]()
    shape: tuple[int, ...] = ()
    for outcomes in _outcomes(encoded.items(), encoded.total, options):
        good: list[tuple[str, Pixels]] = []
        for index, (name, result) in enumerate(outcomes, start=done):
            if not isinstance(result, BadImageError):
                good.append((name, result))
                continue
            skipped.append(Skipped(index, name, str(result)))
            if options.on_bad == "stop":
                raise refuse(skipped[-1])
        if grey and any(pixels.ndim == 3 for _, pixels in good):
            raise _ColourFoundError
        rows = good if grey else [(name, to_rgb(pixels)) for name, pixels in good]
        if rows and not shape:
            shape = rows[0][1].shape
            sink.start(encoded.total * rows[0][1].nbytes)
        if rows:
            _check_shapes(rows, shape)
            sink.write(stack_pixels([pixels for _, pixels in rows]))
        done += len(outcomes)
        if options.progress is not None:
            options.progress(done, encoded.total)
    if not shape:
        raise InputError(f"none of the {encoded.total} files of {encoded.source} can be read")
    return (shape[2] if len(shape) == 3 else 1, *shape[:2]), skipped


def _check_shapes(rows: list[tuple[str, Pixels]], shape: tuple[int, ...]) -> None:
    for name, pixels in rows:
        if pixels.shape != shape:
            raise InputError(
                f"{name} is {pixels.shape[1]} x {pixels.shape[0]} pixels, the images before it are "
                f"{shape[1]} x {shape[0]}; pass image_size to bring all to one size"
            )


def _outcomes(items: Iterator[Item], total: int, options: LoadOptions) -> Iterator[list[Outcome]]:
    """Decode chunk by chunk, in order, with few chunks in flight: memory stays bounded."""
    first = list(islice(items, 1))
    pixels = max((_pixel_count(content) for _, content in first), default=1)
    size = min(max(_PIXELS_PER_CHUNK // pixels, 1), 256)
    chunks = _chunked(chain(first, items), size)
    count = min(_cores(), 8)
    if count == 1 or (pixels < _WORTH_THREADS and total < _WORTH_PROCESSES):
        yield from (read_chunk(chunk, options.image_size) for chunk in chunks)
        return
    workers = Workers(count) if pixels < _WORTH_THREADS else None
    read = read_chunk if workers is None else workers.read_chunk
    pool = ThreadPoolExecutor(count)
    try:
        running: deque[Future[list[Outcome]]] = deque()
        for chunk in chunks:
            running.append(pool.submit(read, chunk, options.image_size))
            if len(running) > 2 * count:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
        if workers is not None:
            workers.close()


def _pixel_count(content: bytes | Path) -> int:
    try:
        with open_image(content) as image:
            return image.width * image.height
    except Exception:  # It will be reported in its turn.
        return _WORTH_THREADS


def _chunked(items: Iterator[Item], size: int) -> Iterator[list[Item]]:
    while chunk := list(islice(items, size)):
        yield chunk


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
