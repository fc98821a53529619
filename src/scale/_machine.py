"""The cores and the memory that this process may use."""

from __future__ import annotations

import contextlib
import math
import os
from functools import lru_cache
from pathlib import Path

from scale._errors import InputError

ALWAYS_THERE = 2**26  # bytes that need no look at the limits


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_bytes() -> float:
    """Return the bytes of memory that this process may use, or infinity if they are unknown.

    It is the machine's memory, or less in a container or a cgroup with a limit.
    """
    return min(_physical_bytes(), memory_limit())


def memory_in_words() -> str:
    """Return in words how much memory there is, and whether the machine or a limit says so."""
    size = memory_bytes()
    limited = size < _physical_bytes()
    who = "this container or cgroup is limited to" if limited else "this machine has"
    return f"{who} {in_words(size)}"


def memory_limit(root: Path = Path("/")) -> float:
    """Return the least memory limit of this process's cgroup and its parents; infinity without one.

    Versions 1 and 2 are read. `root` is the folder that has ``proc`` and ``sys``.
    """
    least = math.inf
    for file in _limit_files(root):
        with contextlib.suppress(OSError, ValueError):  # "max" is no limit
            least = min(least, int(file.read_text()))
    return least


@lru_cache(maxsize=1)
def _limit_files(root: Path) -> list[Path]:
    """Return the files with limits, of the process's own cgroup and of each above it."""
    try:
        own = [line.split(":", 2) for line in _lines(root / "proc/self/cgroup")]
        mounts = [line.split(" ") for line in _lines(root / "proc/self/mountinfo")]
    except OSError:
        return []
    found = []
    for fields in mounts:
        seen, point, (kind, _, options) = fields[3].rstrip("/"), fields[4], fields[-3:]
        for _, controllers, path in own:
            name = _limit_name(kind, options.split(","), controllers.split(","))
            if name is None:
                continue
            top = root / point.lstrip("/")  # shows the cgroup `seen` and those below it
            inner = path[len(seen) :].lstrip("/") if path.startswith(f"{seen}/") else ""
            folder = top / inner
            found += [one / name for one in (folder, *folder.parents) if one.is_relative_to(top)]
    return found


def _limit_name(kind: str, options: list[str], controllers: list[str]) -> str | None:
    """Return the name of the files with limits in a mount, or None if it has none for a cgroup."""
    if kind == "cgroup2" and controllers == [""]:
        return "memory.max"
    if kind == "cgroup" and "memory" in options and "memory" in controllers:
        return "memory.limit_in_bytes"
    return None


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def _physical_bytes() -> float:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf


def in_words(size: float) -> str:
    """Return a number of bytes in the unit that suits it.

    Examples
    --------
    >>> in_words(1200), in_words(5e12)
    ('1.2 kB', '5.0 TB')
    """
    units = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")
    power = min(int(math.log10(max(size, 1)) // 3), len(units) - 1)
    return f"{size / 1000**power:.1f} {units[power]}"


def check_memory(needed: float, what: str, remedy: str) -> None:
    """Raise `InputError` if `what` needs more bytes than there are; `remedy` says what to do.

    Examples
    --------
    >>> check_memory(1e22, "the batch", "use a smaller batch_size")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    scale._errors.InputError: the batch needs at least 10000.0 EB of memory, and this ...; use a \
smaller batch_size
    """
    if needed > ALWAYS_THERE and needed > memory_bytes():
        raise InputError(
            f"{what} needs at least {in_words(needed)} of memory, and {memory_in_words()}; {remedy}"
        )
