"""Keep the campaign in its own folder, whoever runs it: own devices, and a hook in each child."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

NULL, FULL = 3, 7
"""Minor numbers of /dev/null and /dev/full."""
TO_READ = ("/dev/null", "/dev/full", "/dev/tty", "/proc/self/")
"""What may be opened for writing, but neither replaced nor deleted."""
NOWHERE = ("/dev/null/", "/proc/nothing")
"""Where nothing can be made: the attempt fails by itself."""
TEMPORARY = ("/tmp", "/var/tmp", "/usr/tmp")
"""Where Python looks for a place for temporary files if TMPDIR cannot be used."""
CHANGES = ("os.rename", "os.remove", "os.truncate", "os.mkdir", "os.rmdir", "os.link",
           "os.symlink", "os.chmod", "os.chown", "os.utime")  # fmt: skip


def device(path: Path, minor: int) -> None:
    """Make a device at `path`; where that is not allowed, a link to it, which cannot harm it."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, minor))
        os.close(os.open(path, os.O_WRONLY))
    except OSError:
        path.unlink(missing_ok=True)
        path.symlink_to("/dev/null" if minor == NULL else "/dev/full")


def keep_inside(base: Path, log: Path) -> None:
    """Forbid this process every write outside `base`, and add a line to `log` for each attempt.

    The hook stays for the life of the process. It sees what Python itself writes. Temporary files
    of its own are allowed in the usual places.
    """
    inside = [os.path.realpath(base)]

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event != "open" and event not in CHANGES:
            return
        for path, new in _written(event, arguments):
            harmless = NOWHERE + TO_READ if event == "open" else NOWHERE
            if not path or _below(path, inside) or path.startswith(harmless):
                continue
            if new and os.path.dirname(path) in TEMPORARY:
                inside.append(path)
                continue
            with open(log, "a", errors="surrogateescape") as file:
                file.write(f"{event} {path}\n")
            raise PermissionError(13, "the campaign may not write there", path)

    sys.addaudithook(hook)


def _below(path: str, folders: list[str]) -> bool:
    return any(path == one or path.startswith(one + os.sep) for one in folders)


def _written(event: str, arguments: tuple[Any, ...]) -> Iterator[tuple[str, bool]]:
    """Yield the full paths that an event changes, and whether each is made by it."""
    if event == "open":
        path, mode, flags = arguments
        wanted = (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        if not isinstance(path, int) and (wanted or _for_writing(mode)):
            yield _full(path, -1, os.path.realpath), not os.path.lexists(path)
    elif event in ("os.rename", "os.link"):
        source, target, source_in, target_in = arguments[:4]
        yield _full(source, source_in, _of_parent), False
        yield _full(target, target_in, _of_parent), False
    elif event == "os.symlink":
        yield _full(arguments[1], arguments[2], _of_parent), False
    elif event in ("os.truncate", "os.chown", "os.utime", "os.chmod"):
        if not isinstance(arguments[0], int):
            yield _full(arguments[0], -1, os.path.realpath), False
    else:
        path = _full(arguments[0], arguments[-1], _of_parent)
        making = event == "os.mkdir"
        if not (making and os.path.lexists(path)):  # that fails by itself
            yield path, making


def _for_writing(mode: Any) -> bool:
    return isinstance(mode, str) and any(letter in mode for letter in "wax+")


def _full(path: Any, folder: Any, resolve: Callable[[str], str]) -> str:
    text = os.fsdecode(path)
    if isinstance(folder, int) and folder >= 0 and not os.path.isabs(text):
        with contextlib.suppress(OSError):
            text = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), text)
    try:
        return resolve(text)
    except (OSError, ValueError):  # the working folder is gone, or a NUL in the name: it fails
        return ""


def _of_parent(path: str) -> str:
    """Return a path whose folder is resolved, but not the name itself: a link may be renamed."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name)
