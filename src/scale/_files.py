"""Files that are either the old ones or the new ones, never something in between."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scale._errors import ScaleError


@contextlib.contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside `target` that becomes `target` when the block succeeds.

    The data is on disk before the name is: a kill or a full disk leaves the old file as it was.
    """
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        with open(part, "rb") as file:
            os.fsync(file.fileno())
        part.chmod(0o666 & ~_umask())
        part.replace(target)
        _sync_folder(target.parent)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise ScaleError(
                f"no space left on the disk of {target.parent}; free some and run again "
                f"({target.name} was left as it was)"
            ) from error
        raise
    finally:
        part.unlink(missing_ok=True)


def write_atomic(target: Path, content: bytes | str) -> None:
    """Replace the content of `target`, whole or not at all."""
    data = content.encode() if isinstance(content, str) else content
    with atomic_path(target) as part:
        part.write_bytes(data)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
