"""File locks between processes; the system releases them when a process is killed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import filelock


class LockedError(Exception):
    """Another process holds the lock."""


@contextlib.contextmanager
def hold(path: Path) -> Iterator[None]:
    """Hold the lock file `path` during the block; raise `LockedError` when another process does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(path)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout as error:
        raise LockedError(str(path)) from error
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def wait_for(path: Path) -> Iterator[bool]:
    """Wait for the lock file `path` and hold it during the block.

    Yields False, at once, where the system or its network disk has no file locks.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(path)
    try:
        lock.acquire()
    except (NotImplementedError, OSError):
        yield False
        return
    try:
        yield True
    finally:
        lock.release()
