"""What commands share: how they speak to the terminal, and the memory of a long run."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

UNSEEN_WIDTH = 240


def console() -> Console:
    """Return the console that standard output is."""
    from rich.console import Console

    return Console()


def table_console() -> Console:
    """Return a console that is wide when nobody looks, so that a pipe gets unbroken rows."""
    from rich.console import Console

    unseen = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(width=UNSEEN_WIDTH if unseen else None)


def say(text: str) -> None:
    """Write a line that is neither marked up nor broken."""
    console().print(text, highlight=False, markup=False, emoji=False, soft_wrap=True)


@contextlib.contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar; yields the function to call with (done, total)."""
    from rich.progress import DownloadColumn, Progress, TransferSpeedColumn

    columns = (*Progress.get_default_columns(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=console()) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def keep_freed_memory() -> None:
    """Let glibc reuse the memory of large tensors instead of returning it at every update.

    Mapping and unmapping them costs a tenth of an update. It changes the whole process, so only the
    commands do it, not the library.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        libc = ctypes.CDLL(None)
        libc.mallopt(-3, 2**30)  # M_MMAP_THRESHOLD
        libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD
