"""Frames of a video file, in their order."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from PIL import Image

from scale._errors import InputError
from scale._machine import check_memory
from scale.data._imageset import ImageSet
from scale.data.pixels import BadImageError, Pixels, fit_square, stack_pixels
from scale.data.registry import LoadOptions
from scale.data.splits import match_split

SUFFIXES = (".mp4", ".avi", ".mov", ".mkv", ".webm", ".m4v", ".mpg", ".mpeg")
LARGEST_SIDE = 1920  # of a frame; larger ones are scaled down


def load_video(path: Path, split: str, options: LoadOptions) -> ImageSet:
    """Return all frames of a video as one set without labels; its only split is ``train``."""
    match_split(split, ["train"], str(path))
    if options.label is not None:
        raise InputError(f"{path} is a video, which has no labels; leave label out")
    av = import_av()
    rows: list[Pixels] = []
    with open_video(str(path)) as container:
        expected = container.streams.video[0].frames  # 0 if it does not say it
        for packet in container.demux(container.streams.video[0]):
            try:
                frames = packet.decode()
            except av.error.FFmpegError as error:
                if options.on_bad == "stop":
                    raise InputError(
                        f"frame {len(rows) + 1} of {path} cannot be decoded; repair it, or skip "
                        "such frames with --on-bad skip"
                    ) from error
                continue
            for frame in frames:
                rows.append(_sized(pixels_of(frame), options.image_size))
                _check_room(path, rows, expected)
                if options.progress is not None:
                    options.progress(len(rows), max(expected, len(rows)))
    if not rows:
        raise InputError(f"{path} has no frame that can be decoded; give a video")
    return ImageSet(stack_pixels(rows), None, (), path.stem, str(path))


def _sized(pixels: Pixels, size: int | None) -> Pixels:
    if size is None:
        return pixels
    return np.asarray(fit_square(Image.fromarray(np.ascontiguousarray(pixels)), size))


def _check_room(path: Path, rows: list[Pixels], expected: int) -> None:
    if len(rows) == 1 or len(rows) % 256 == 0:
        frames = max(expected, len(rows))
        what = f"the {frames} frames of {path}"
        check_memory(2 * frames * rows[0].nbytes, what, "give a smaller image_size")


def import_av() -> ModuleType:
    """Return the library that decodes video."""
    try:
        import av
    except ImportError as error:
        raise InputError(
            "videos, streams and cameras need the extra 'video'; "
            "install it: pip install 'scale-lifelong[video]'"
        ) from error
    return av


def open_video(path: str, **more: Any) -> Any:
    """Return an open container with at least one video stream.

    Raises
    ------
    InputError
        It is not a video.
    """
    av = import_av()
    try:
        container = av.open(path, **more)
    except (av.error.FFmpegError, OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError(f"cannot open {path} as a video: {why}; check it") from error
    if not container.streams.video:
        container.close()
        raise InputError(f"{path} has no pictures in it; give a video")
    return container


def pixels_of(frame: Any) -> Pixels:
    """Return a decoded frame upright as (H, W, 3), at most 1920 pixels a side."""
    scale = min(LARGEST_SIDE / max(frame.width, frame.height), 1)
    size = (max(round(frame.width * scale), 1), max(round(frame.height * scale), 1))
    try:
        pixels = frame.reformat(*size, format="rgb24").to_ndarray()
    except (ValueError, OSError, MemoryError) as error:
        raise BadImageError(str(error)) from error
    # Phones store portraits lying down, with the angle to turn them by, counter-clockwise.
    return np.rot90(np.asarray(pixels), round(frame.rotation / 90))
