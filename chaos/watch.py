"""Which files a process opens, whatever opens them: Linux tells it by inotify."""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from collections.abc import Iterator
from pathlib import Path

OPENED = 0x20
_EVENT = struct.Struct("iIII")


@contextlib.contextmanager
def opened_below(root: Path) -> Iterator[set[Path]]:
    """Yield a set that has the files below `root` that were opened when the block ends."""
    libc = ctypes.CDLL(None, use_errno=True)
    handle = libc.inotify_init1(os.O_NONBLOCK)
    if handle < 0:
        raise OSError(ctypes.get_errno(), "inotify is not to be had")
    folders: dict[int, Path] = {}
    found: set[Path] = set()
    for folder, _, _ in os.walk(root):
        number = libc.inotify_add_watch(handle, os.fsencode(folder), OPENED)
        folders[number] = Path(folder)
    try:
        yield found
        found.update(_events(handle, folders))
    finally:
        os.close(handle)


def _events(handle: int, folders: dict[int, Path]) -> Iterator[Path]:
    while True:
        try:
            data = os.read(handle, 1 << 16)
        except BlockingIOError:
            return
        at = 0
        while at < len(data):
            number, _, _, length = _EVENT.unpack_from(data, at)
            name = data[at + _EVENT.size : at + _EVENT.size + length].rstrip(b"\0")
            path = folders.get(number, Path()) / os.fsdecode(name)
            if name and path.is_file():
                yield path
            at += _EVENT.size + length
