"""Hostile uploads: too large, bombs, truncated, no images. None is kept, and none hurts."""

from __future__ import annotations

import io
import socket
import struct
import zlib
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image

from scale.live.service.body import MOST_BYTES, MOST_PIXELS
from tests.live.service.conftest import Page, digit_frames, encoded


def bomb(side: int) -> bytes:
    """A small PNG that says it has side x side pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0))
    data = chunk(b"IDAT", zlib.compress(bytes(100_000), 9))
    return b"\x89PNG\r\n\x1a\n" + head + data + chunk(b"IEND", b"")


def animated() -> bytes:
    out = io.BytesIO()
    frames = [Image.new("L", (8, 8), i) for i in range(3)]
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    return out.getvalue()


PNG = encoded(digit_frames(1)[0])
HOSTILE = {
    "empty": b"",
    "text": b"hello",
    "html": b"<!doctype html><script>alert(1)</script>",
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>',
    "postscript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
    "truncated": PNG[: len(PNG) // 2],
    "jpeg head": b"\xff\xd8\xff\xe0" + bytes(100),
    "gif": animated(),
    "pickle": b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00\x8c\x02os\x94\x8c\x06system",
    "tiff": b"II*\x00" + b"\xff" * 64,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_image_is_refused_with_a_reason(page: Page, name: str):
    answer = page.ask("POST", "/search", HOSTILE[name], {"content-type": "image/jpeg"})
    assert answer.status == 415
    assert "cannot be read" in answer.json()["detail"]


@pytest.mark.parametrize("side", [10_000, 60_000, 2**31 - 1])
def test_a_bomb_is_refused_before_it_is_decoded(page: Page, side: int):
    answer = page.ask("POST", "/search", bomb(side), {"content-type": "image/png"})
    assert answer.status in (413, 415)
    assert side**2 > MOST_PIXELS


def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_sent(page: Page):
    with socket.create_connection(("127.0.0.1", page.server.port), timeout=60) as client:
        head = f"POST /search HTTP/1.1\r\nhost: localhost\r\ncontent-length: {2 * 10**9}\r\n\r\n"
        client.sendall(head.encode())
        assert client.recv(100).startswith(b"HTTP/1.1 413")


def test_a_body_without_a_length_is_cut_off(page: Page):
    def endless() -> Iterator[bytes]:
        for _ in range(MOST_BYTES // 2**20 + 2):
            yield bytes(2**20)

    try:
        status = page.ask("POST", "/search", endless()).status
    except (BrokenPipeError, ConnectionResetError):  # it was refused while we still sent
        status = 413
    assert status == 413
    assert page.get("/healthz").status == 200


@pytest.mark.parametrize("path", ["/names", "/names/remove"])
def test_a_request_that_is_no_image_is_cut_off_sooner(page: Page, path: str):
    def endless() -> Iterator[bytes]:
        for _ in range(64):
            yield bytes(2**16)

    try:
        status = page.ask("POST", path, endless(), {"content-type": "application/json"}).status
    except (BrokenPipeError, ConnectionResetError):  # it was refused while we still sent
        status = 413
    assert status == 413
    assert page.get("/healthz").status == 200


@pytest.mark.parametrize("length", ["-1", "1e9", "nonsense", "9" * 30])
def test_a_length_that_is_no_number_is_refused(page: Page, length: str):
    with socket.create_connection(("127.0.0.1", page.server.port), timeout=60) as client:
        head = f"POST /search HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n"
        client.sendall(head.encode())
        assert client.recv(100).split()[1] in (b"400", b"413")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "BMP"])
def test_an_image_of_a_usual_kind_finds_itself(page: Page, kind: str):
    frame = page.store.pixels([9])[0].transpose(1, 2, 0)
    large = np.repeat(np.repeat(frame, 4, axis=0), 4, axis=1)
    answer = page.ask("POST", "/search?k=3", encoded(large, kind))
    assert answer.status == 200
    assert 9 in [hit["id"] for hit in answer.json()["hits"]]


def test_what_is_uploaded_for_a_search_is_not_kept(page: Page):
    before = page.store.query("SELECT COUNT(*) FROM images")[0][0]
    assert page.ask("POST", "/search", PNG).status == 200
    assert page.store.query("SELECT COUNT(*) FROM images")[0][0] == before


def test_no_learner_takes_images_while_none_watches(page: Page):
    answer = page.ask("POST", "/images", PNG)
    assert (answer.status, "scale watch" in answer.json()["detail"]) == (409, True)


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (40, 1), (3, 40), (40, 3)])
def test_a_narrow_image_can_be_searched(page: Page, shape: tuple[int, int]):
    image = encoded(np.full((*shape, 3), 99, np.uint8))
    assert page.ask("POST", "/search?k=1", image).status == 200
