"""Images that a request brings: limited in bytes, time and pixels, and decoded one at a time."""

from __future__ import annotations

import asyncio
import re
import threading
from typing import Any

from fastapi import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from scale.data.pixels import BadImageError, Pixels, open_image, read_pixels, to_rgb
from scale.live.service.models import Responses

MOST_BYTES = 20 * 2**20
MOST_PIXELS = 50_000_000
MOST_TEXT = 2**20  # bytes of a body that is no image
TAKE_IMAGES = ("/images", "/search")
DIGITS = re.compile("[0-9]{1,12}")
SECONDS = 60.0
"""How long a body may take to arrive."""
IMAGE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": f"One image (JPEG, PNG, WebP, ...), at most {MOST_BYTES >> 20} MiB and "
        f"{MOST_PIXELS // 10**6} million pixels.",
        "content": {"image/*": {"schema": {"type": "string", "format": "binary"}}},
    }
}
"""What the OpenAPI description says about such a body."""
BAD_IMAGE: Responses = {
    408: {"description": "The image took too long to arrive."},
    413: {"description": "The image has too many bytes or pixels."},
    415: {"description": "It is not an image that can be read."},
}
_one_at_a_time = threading.Lock()


class Limit:
    """ASGI middleware: cuts off a body that is larger than any that the page sends.

    Parameters
    ----------
    app
        What is guarded. It limits images itself.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > MOST_TEXT:
                raise _too_large(MOST_TEXT, "request")
            return message

        limited = scope["type"] == "http" and scope["path"] not in TAKE_IMAGES
        await self.app(scope, counted if limited else receive, send)


async def read_body(request: Request, most: int = MOST_BYTES) -> bytes:
    """Return the body of a request; one that is too large is refused before it is read."""
    declared = request.headers.get("content-length", "0")
    if not DIGITS.fullmatch(declared) or int(declared) > most:
        raise _too_large(most)
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(SECONDS):
            async for part in request.stream():
                size += len(part)
                if size > most:
                    raise _too_large(most)
                parts.append(part)
    except TimeoutError as error:
        raise HTTPException(408, "The image took too long to arrive; send it again.") from error
    except ClientDisconnect as error:
        raise HTTPException(400, "The image did not arrive whole; send it again.") from error
    return b"".join(parts)


def decode_body(content: bytes) -> Pixels:
    """Return the pixels of an image, (H, W, 3); one that would need much memory is not decoded."""
    try:
        with open_image(content) as image:
            pixels = image.width * image.height
        if pixels > MOST_PIXELS:
            raise HTTPException(
                413,
                f"The image has {pixels} pixels; at most {MOST_PIXELS} are allowed. Send a "
                "smaller one.",
            )
        with _one_at_a_time:
            return to_rgb(read_pixels(content))
    except HTTPException:
        raise
    except BadImageError as error:
        raise _unreadable(str(error)) from error
    except Exception as error:  # Pillow's parsers raise nearly every type on damaged data
        raise _unreadable("it is not an image") from error


def _too_large(most: int, what: str = "image") -> HTTPException:
    return HTTPException(
        413, f"The {what} is larger than {most >> 20} MiB, the most that is allowed."
    )


def _unreadable(reason: str) -> HTTPException:
    return HTTPException(
        415, f"The image cannot be read: {reason}. Send a JPEG, PNG or WebP image."
    )
