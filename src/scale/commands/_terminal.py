"""Tools that commands share: terminal output, progress bars, and the memory of long runs."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from scale._output import News
from scale._text import printable

if TYPE_CHECKING:
    from scale._console import Screen

UNSEEN_WIDTH = 240


def console() -> Screen:
    """Return a console for news: progress, and where files are. To lose it stops no work."""
    from scale._console import Screen

    return Screen(News())


def table_console() -> Screen:
    """Return a console for results; without a terminal it is wide, so that no row is broken."""
    from scale._console import Screen

    unseen = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Screen(width=UNSEEN_WIDTH if unseen else None)


def say(text: str) -> None:
    """Print a line of news, without markup or line breaks."""
    console().say(text)


def put(text: str) -> None:
    """Write a result as it is to a file or pipe, and without control characters to a terminal."""
    sys.stdout.write(printable(text, keep="\n\t") if sys.stdout.isatty() else text)


@contextlib.contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar; yield the function to call with (done, total)."""
    from rich.progress import DownloadColumn, Progress, TransferSpeedColumn

    columns = (*Progress.get_default_columns(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console()) as bar:
        task = bar.add_task(what, total=None, visible=False)  # until there is something to do
        yield lambda done, total: bar.update(task, completed=done, total=total, visible=True)


def keep_freed_memory() -> None:
    """Let glibc reuse the memory of large tensors instead of returning it at every update.

    Returning it costs a tenth of an update. The setting affects the whole process, so only the
    commands use it, not the library.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        libc = ctypes.CDLL(None)
        libc.mallopt(-3, 2**30)  # M_MMAP_THRESHOLD
        libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD
