"""Times as people read them."""

from __future__ import annotations

import time


def local_time(seconds: float) -> str:
    """Return a time on this machine's clock; a number if the clock has no such time."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return f"{seconds:g}"
