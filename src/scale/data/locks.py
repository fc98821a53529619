"""One process at a time, released by the system when a process is killed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Wait for the lock file `path`, and hold it during the block.

    Yields False, at once, where the system or its network disk has no file locks.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "ab") as file:
        try:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
            held = True
        except (ImportError, OSError):
            held = False
        yield held
