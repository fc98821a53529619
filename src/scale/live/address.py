"""Addresses of cameras and streams, which may hold a password."""

from __future__ import annotations

import re

_WORD = re.compile(r"\b((?:password|passwd|pass|pwd)=)[^&;/#\s]*", re.IGNORECASE)


def hide_password(uri: str) -> str:
    """Return an address without the password in it.

    Examples
    --------
    >>> hide_password("rtsp://me:secret@door:554/live")
    'rtsp://me:***@door:554/live'
    >>> hide_password("rtsp://door/user=me&password=secret&channel=1")
    'rtsp://door/user=me&password=***&channel=1'
    """
    scheme, slashes, rest = uri.partition("://")
    host, slash, path = rest.partition("/")
    user, at, place = host.rpartition("@")
    name, colon, _ = user.partition(":")
    plain = f"{scheme}{slashes}{name}{colon}{'***' if colon else ''}{at}{place}{slash}"
    return plain + _WORD.sub(r"\1***", path)
