"""Decode many images to blocks of pixels, in order; large images in threads."""

from __future__ import annotations

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
from scale._machine import cores
from scale.data.pixels import (
    BadImageError,
    Pixels,
    open_image,
    read_pixels,
    stack_pixels,
    to_rgb,
)
from scale.data.registry import LoadOptions

# Smaller images are decoded in this thread: Pillow releases the interpreter's lock too briefly.
_PIXELS_FOR_THREADS = 128 * 128
_PIXELS_PER_CHUNK = 1 << 22
Item = tuple[str, bytes | Path]  # the name that errors use, and the encoded image
Outcome = tuple[str, Pixels | BadImageError]


@dataclass(frozen=True)
class Encoded:
    """Images that are still encoded.

    `identity` names the source and its cache entry. `fingerprint` changes when the files change.
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
    """A colour image in a pass that expects grey ones."""


def decode(
    encoded: Encoded, options: LoadOptions, sink: Sink
) -> tuple[tuple[int, ...], list[Skipped]]:
    """Write all images to `sink`; return their shape (C, H, W) and the unreadable ones."""
    with warnings.catch_warnings():
        # We report an unreadable image once; Pillow would warn about odd ones as well.
        warnings.filterwarnings("ignore", module="PIL")
        try:
            return _decode_pass(encoded, options, sink, grey=True)
        except _ColourFoundError:
            return _decode_pass(encoded, options, sink, grey=False)


def refuse(bad: Skipped) -> InputError:
    """Return the error for an image that cannot be read."""
    return InputError(
        f"cannot read {bad.name}: {bad.reason}; repair or remove it, or skip such files with "
        f"on_bad='skip' (--on-bad skip)"
    )


def _decode_pass(
    encoded: Encoded, options: LoadOptions, sink: Sink, *, grey: bool
) -> tuple[tuple[int, ...], list[Skipped]]:
    done, skipped = 0, list[Skipped]()
    shape: tuple[int, ...] = ()
    if options.image_size is not None:  # say that there is no space before decoding
        sink.start(encoded.total * options.image_size**2)
    for outcomes in _outcomes(encoded.items(), options.image_size):
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
        raise InputError(
            f"none of the {encoded.total} files of {encoded.source} can be read; give image files"
        )
    return (shape[2] if len(shape) == 3 else 1, *shape[:2]), skipped


def _check_shapes(rows: list[tuple[str, Pixels]], shape: tuple[int, ...]) -> None:
    for name, pixels in rows:
        if pixels.shape != shape:
            raise InputError(
                f"{name} is {pixels.shape[1]} x {pixels.shape[0]} pixels, the images before it are "
                f"{shape[1]} x {shape[0]}; pass image_size to resize all"
            )


def _outcomes(items: Iterator[Item], image_size: int | None) -> Iterator[list[Outcome]]:
    """Decode chunk by chunk, in order; few chunks at a time, so that memory is bounded."""
    first = list(islice(items, 1))
    pixels = max((_pixel_count(content) for _, content in first), default=1)
    size = min(max(_PIXELS_PER_CHUNK // max(pixels, (image_size or 1) ** 2), 1), 256)
    chunks = _chunked(chain(first, items), size)
    threads = min(cores(), 8)
    if threads == 1 or pixels < _PIXELS_FOR_THREADS:
        yield from (_read_chunk(chunk, image_size) for chunk in chunks)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        running: deque[Future[list[Outcome]]] = deque()
        for chunk in chunks:
            running.append(pool.submit(_read_chunk, chunk, image_size))
            if len(running) > 2 * threads:
                yield running.popleft().result()
        while running:
            yield running.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _read_chunk(chunk: list[Item], image_size: int | None) -> list[Outcome]:
    outcomes: list[Outcome] = []
    for name, content in chunk:
        try:
            outcomes.append((name, read_pixels(content, image_size)))
        except BadImageError as error:
            outcomes.append((name, error))
    return outcomes


def _pixel_count(content: bytes | Path) -> int:
    try:
        with open_image(content) as image:
            return image.width * image.height
    except Exception:  # reported when it is decoded
        return _PIXELS_FOR_THREADS


def _chunked(items: Iterator[Item], size: int) -> Iterator[list[Item]]:
    while chunk := list(islice(items, size)):
        yield chunk
