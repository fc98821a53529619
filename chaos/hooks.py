"""Stop a child at a chosen write: the hooks count every file that it opens, renames or syncs."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Act = Callable[[str, str], object]
CHANGES = ("os.rename", "os.remove", "os.truncate", "os.mkdir", "os.rmdir")


def at_write(number: int | None, act: Act, below: Path) -> None:
    """Call `act` with the kind and the path of this process's write number `number`, or of all.

    Only files below the folder `below` count. An audit hook stays for the life of a process, so
    only children that end soon use this.
    """
    seen = 0
    prefix = os.path.abspath(below)

    def note(kind: str, path: Any) -> None:
        nonlocal seen
        name = os.path.abspath(os.fsdecode(path)) if not isinstance(path, int) else _of(path)
        if not name.startswith(prefix):
            return
        seen += 1
        if number in (None, seen):
            act(kind, name)

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and _writes(arguments):
            note("open", arguments[0])
        elif event in CHANGES:
            note(event, arguments[0])

    real = os.fsync

    def fsync(handle: Any) -> None:
        file = handle if isinstance(handle, int) else handle.fileno()
        note("fsync", file)
        real(file)
        note("synced", file)

    os.fsync = fsync  # type: ignore[assignment]
    sys.addaudithook(hook)


def count_writes(below: Path, into: Path) -> None:
    """Add a line to the file `into` for each write below `below`."""
    handle = os.open(into, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def act(kind: str, path: str) -> None:
        os.write(handle, f"{kind} {path}\n".encode("utf-8", "surrogateescape"))

    at_write(None, act, below)


def kill_here(kind: str, path: str) -> None:
    """End this process at once."""
    os.kill(os.getpid(), signal.SIGKILL)


def _writes(arguments: tuple[Any, ...]) -> bool:
    path, mode, flags = arguments
    if isinstance(path, int):
        return False
    if isinstance(mode, str) and any(letter in mode for letter in "wax+"):
        return True
    return bool((flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))


def _of(handle: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{handle}")
    except OSError:
        return ""
