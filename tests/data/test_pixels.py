from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

from scale.data.pixels import BadImageError, read_pixels, to_pixels


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def test_grey_stays_grey_and_colour_stays_colour() -> None:
    assert read_pixels(encoded(Image.new("L", (6, 5), 7))).shape == (5, 6)
    assert read_pixels(encoded(Image.new("RGB", (6, 5), (1, 2, 3)))).shape == (5, 6, 3)


def test_16_bits_are_scaled_not_cut() -> None:
    deep = np.array([[0, 257, 65535, 32768]], np.uint16)
    pixels = read_pixels(encoded(Image.fromarray(deep)))
    assert pixels.tolist() == [[0, 1, 255, 128]]


def test_black_and_white_is_0_and_255() -> None:
    image = Image.fromarray(np.array([[False, True]]))
    assert image.mode == "1"
    assert read_pixels(encoded(image)).tolist() == [[0, 255]]


def test_a_palette_is_looked_up() -> None:
    image = Image.new("RGB", (4, 4), (200, 30, 40)).quantize(4)
    assert image.mode == "P"
    assert read_pixels(encoded(image))[0, 0].tolist() == [200, 30, 40]


@pytest.mark.parametrize(
    ("mode", "colour", "expected"),
    [
        ("RGBA", (10, 20, 30, 0), [255, 255, 255]),
        ("RGBA", (10, 20, 30, 255), [10, 20, 30]),
        ("LA", (10, 0), 255),
    ],
)
def test_alpha_is_composited_over_white(mode: str, colour: Any, expected: Any) -> None:
    assert read_pixels(encoded(Image.new(mode, (3, 3), colour)))[0, 0].tolist() == expected


def test_cmyk_becomes_rgb() -> None:
    pixels = read_pixels(encoded(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "JPEG"))
    assert pixels.shape == (8, 8, 3)
    assert np.abs(pixels[4, 4].astype(int) - [255, 0, 0]).max() < 12


def test_exif_orientation_is_applied() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # turn a quarter clockwise to see it upright
    array = np.zeros((8, 16), np.uint8)
    array[:, 8:] = 255
    pixels = read_pixels(encoded(Image.fromarray(array), "PNG", exif=exif))
    assert pixels.shape == (16, 8)
    assert (pixels[0, 0], pixels[15, 0]) == (0, 255)


def test_scaling_keeps_the_centre() -> None:
    array = np.zeros((10, 30), np.uint8)
    array[:, 10:20] = 200
    pixels = to_pixels(Image.fromarray(array), 5)
    assert pixels.shape == (5, 5)
    assert pixels.min() > 150


def test_animation_is_bad() -> None:
    frames = [Image.new("L", (4, 4), v) for v in (0, 255)]
    content = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    with pytest.raises(BadImageError, match="animated"):
        read_pixels(content)


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("limit", [60, 20])
def test_an_image_that_needs_too_much_memory_is_bad(
    limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = encoded(Image.new("L", (8, 8)))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    with pytest.raises(BadImageError):
        read_pixels(content)


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"%!PS-Adobe-3.0 EPSF-3.0\n", b"\x89PNG\r\n\x1a\n"]
)
def test_other_content_is_bad(content: bytes) -> None:
    with pytest.raises(BadImageError):
        read_pixels(content)


@pytest.mark.filterwarnings("ignore:::PIL")
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"])
def test_every_way_of_cutting_a_file_short_is_bad_or_whole(kind: str) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    content = encoded(Image.fromarray(noise), kind)
    for length in range(0, len(content) - 1, max(len(content) // 23, 1)):
        try:
            pixels = read_pixels(content[:length])
        except BadImageError:
            continue
        assert pixels.shape == (16, 16, 3)


def test_floating_point_pictures_must_be_in_0_to_1() -> None:
    fine = Image.fromarray(np.array([[0, 0.5, 1]], np.float32))
    assert to_pixels(fine).tolist() == [[0, 128, 255]]
    with pytest.raises(BadImageError):
        to_pixels(Image.fromarray(np.array([[0, np.nan]], np.float32)))
