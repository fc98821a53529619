"""Decode one image of any format to 8-bit grey or RGB pixels."""

from __future__ import annotations

import io
import stat
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from scale._machine import check_memory

Pixels = npt.NDArray[np.uint8]  # (H, W) grey, (H, W, 3) RGB; arrays may have (H, W, 4)

# Only formats of photographs: others run programs (EPS) or match text by accident.
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "MPO", "JPEG2000", "PPM", "AVIF")
_GREY = ("1", "L", "LA", "La")
_ALPHA = ("LA", "La", "PA", "RGBA", "RGBa")


class BadImageError(Exception):
    """An image that cannot be used; the message says why."""


def read_pixels(content: bytes | Path, image_size: int | None = None) -> Pixels:
    """Decode an image, apply its EXIF orientation, and resize it if `image_size` is given."""
    try:
        with open_image(content) as image:
            if getattr(image, "is_animated", False) and image.format != "MPO":
                raise BadImageError("it is animated or has several pages")
            ImageOps.exif_transpose(image, in_place=True)
            return to_pixels(image, image_size)
    except BadImageError:
        raise
    except Exception as error:  # Pillow's decoders raise nearly every type on damaged data.
        raise BadImageError(_reason(error)) from error


def open_image(content: bytes | Path) -> Image.Image:
    """Open without decoding; refuse special files and images that need too much memory."""
    if isinstance(content, Path) and not stat.S_ISREG(content.stat().st_mode):
        raise BadImageError("it is not a regular file")
    image = Image.open(
        io.BytesIO(content) if isinstance(content, bytes) else content, formats=_formats()
    )
    limit = Image.MAX_IMAGE_PIXELS
    if limit is not None and image.width * image.height > limit:
        image.close()
        raise BadImageError(f"it has more than {limit} pixels")
    return image


def to_pixels(image: Image.Image, image_size: int | None = None) -> Pixels:
    """Convert any Pillow image: composite alpha over white, scale 16 bits to 8."""
    if image.mode.startswith(("I", "F")):
        image = Image.fromarray(_deep_to_8_bit(np.asarray(image)))
    grey = image.mode in _GREY
    if image.mode in _ALPHA or "transparency" in image.info:
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image.convert("RGBA"))
    mode = "L" if grey else "RGB"
    image = image if image.mode == mode else image.convert(mode)
    return np.asarray(image if image_size is None else fit_square(image, image_size))


def fit_square(image: Image.Image, size: int) -> Image.Image:
    """Scale the short side to `size` and crop the centre."""
    if image.size == (size, size):
        return image
    return ImageOps.fit(image, (size, size), method=Image.Resampling.BILINEAR)


def resize_all(images: npt.NDArray[np.uint8], size: int) -> npt.NDArray[np.uint8]:
    """Apply `fit_square` to arrays, N x C x H x W."""
    if images.shape[2:] == (size, size):
        return images
    needed = 2 * images.shape[0] * images.shape[1] * size**2  # the planes, and their stack
    check_memory(needed, f"resizing {len(images)} images to {size}", "use a smaller image_size")
    # Channel by channel: Pillow would multiply the first three of four channels by the last.
    planes = images.reshape(-1, *images.shape[2:])  # (N * C, H, W)
    scaled = [np.asarray(fit_square(Image.fromarray(plane), size)) for plane in planes]
    return np.stack(scaled).reshape(*images.shape[:2], size, size)


def to_rgb(pixels: Pixels) -> Pixels:
    """Repeat a grey image over three channels; return others unchanged."""
    return np.repeat(pixels[..., None], 3, axis=2) if pixels.ndim == 2 else pixels


def stack_pixels(rows: list[Pixels]) -> npt.NDArray[np.uint8]:
    """Stack images of one shape into N x C x H x W."""
    block = np.stack(rows)
    if block.ndim == 3:
        return block[:, None]  # (N, 1, H, W)
    return np.ascontiguousarray(block.transpose(0, 3, 1, 2))  # (N, C, H, W)


def _deep_to_8_bit(values: npt.NDArray[np.generic]) -> Pixels:
    if values.dtype.kind == "f":
        if not (np.isfinite(values).all() and values.min() >= 0 and values.max() <= 1):
            raise BadImageError("its floating-point values are not all in 0 .. 1")
        return np.rint(values.astype(np.float64) * 255).astype(np.uint8)
    wide = values.astype(np.int64)
    if wide.min() < 0 or wide.max() > 65535:
        raise BadImageError("its values do not fit 16 bits")
    return np.rint(wide / 257).astype(np.uint8)


@cache
def _formats() -> tuple[str, ...]:
    Image.init()
    return tuple(name for name in _FORMATS if name in Image.OPEN)


def _reason(error: Exception) -> str:
    if isinstance(error, UnidentifiedImageError):
        return "it is not an image"
    if isinstance(error, Image.DecompressionBombError | MemoryError):
        return "it would need too much memory"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return " ".join(str(error).split()) or type(error).__name__
