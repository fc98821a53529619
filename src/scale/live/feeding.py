"""Images that a program gives."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import numpy as np

from scale._errors import InputError
from scale._numbers import check_number
from scale.live.intake import Intake, Item
from scale.live.pictures import Frame
from scale.streams.live import as_images

EARLIEST, LATEST = -62_135_596_800.0, 253_402_300_799.0  # the years 1 to 9999


def feed(intake: Intake, images: Any, when: Any) -> list[int]:
    """Put a program's images into an intake and return the numbers of those that were taken."""
    frames = list(_frames(images))
    times = _times(when, len(frames))
    with intake.lock:
        taken: list[int] = []
        intake.collected = taken
        for frame, at in zip(frames, times, strict=True):
            if not intake.put(Item(at, partial(_same, frame))):
                break
        intake.flush()
        intake.collected = None
    return taken


def _same(frame: Frame) -> Frame:
    return frame


def _frames(images: Any) -> Iterator[Frame]:
    """Yield images as (H, W, 3), from a batch or from a list of images of any sizes."""
    items = images if isinstance(images, list | tuple) else [images]
    for number, item in enumerate(items):
        for image in as_images(item, None, f"item {number} of images"):  # (C, H, W)
            frame = image.transpose(1, 2, 0)
            frame = np.repeat(frame, 3, axis=2) if frame.shape[2] == 1 else frame[..., :3]
            yield np.ascontiguousarray(frame)


def _times(when: Any, n: int) -> Sequence[float]:
    """Return the time of each image in unix seconds."""
    if when is None:
        return [time.time()] * n
    single = isinstance(when, datetime | int | float) or np.ndim(when) == 0
    given = [when] * n if single else list(when)
    if len(given) != n:
        raise InputError(f"when must have one time for each of the {n} images, got {len(given)}")
    return [_time(one) for one in given]


def _time(one: Any) -> float:
    if isinstance(one, datetime):
        return one.timestamp()
    plain = one.item() if isinstance(one, np.generic) else one
    check_number("when", plain, least=EARLIEST, most=LATEST)
    return float(plain)
