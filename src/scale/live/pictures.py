"""Images on their way into the store: RGB arrays, PNGs of the learner's size, thumbnails."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

from scale.data.pixels import fit_square, to_rgb

Frame = npt.NDArray[np.uint8]  # (H, W, 3)
Box = tuple[int, int, int, int]  # left, top, width, height

THUMBNAIL_SIDE = 160
QUALITY = 80


@dataclass(frozen=True)
class Picture:
    """An image in the forms that the store keeps.

    Parameters
    ----------
    pixels
        PNG of the learner's size.
    thumbnail
        JPEG, at most 160 pixels a side.
    width, height
        Size of the frame that it came from.
    box
        Left, top, width and height of a crop in that frame; None for the whole frame.
    """

    pixels: bytes
    thumbnail: bytes
    width: int
    height: int
    box: Box | None = None


def make_picture(frame: Frame, image_size: int, box: Box | None = None) -> Picture:
    """Return a frame, or the crop of it in `box`, in the forms that the store keeps."""
    height, width = frame.shape[:2]
    if box is not None:
        left, top, wide, high = box
        frame = frame[top : top + high, left : left + wide]
    image = Image.fromarray(np.ascontiguousarray(to_rgb(frame)))
    return Picture(
        pixels=to_png(fit_square(image, image_size)),
        thumbnail=to_thumbnail(image),
        width=width,
        height=height,
        box=box,
    )


def to_png(image: Image.Image) -> bytes:
    """Return an image as a PNG, which loses nothing."""
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=1)
    return out.getvalue()


def to_thumbnail(image: Image.Image) -> bytes:
    """Return an image as a small JPEG."""
    small = image.copy()
    small.thumbnail((THUMBNAIL_SIDE, THUMBNAIL_SIDE))
    out = io.BytesIO()
    small.save(out, "JPEG", quality=QUALITY)
    return out.getvalue()


def from_png(png: bytes) -> Frame:
    """Return the pixels of a PNG that `to_png` made, (H, W, 3)."""
    with Image.open(io.BytesIO(png), formats=("PNG",)) as image:
        return np.asarray(image.convert("RGB"))
