"""Wait for what other threads and processes do."""

from __future__ import annotations

import time
from collections.abc import Callable

GIVES_UP = 120.0  # seconds: a hang fails the test instead of holding the suite


def until(condition: Callable[[], object]) -> None:
    """Return as soon as a condition holds."""
    end = time.monotonic() + GIVES_UP
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)
