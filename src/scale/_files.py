"""Atomic writes: a file has its old content or its new content, never a part of it."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from scale._errors import UnwritableError

REASONS = {
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EROFS: "its disk is read-only",
    errno.EISDIR: "it is a folder",
    errno.ENOTDIR: "a file is where a folder on its path should be",
    errno.EEXIST: "a file is where a folder on its path should be",
    errno.ENAMETOOLONG: "its name is too long",
}


@contextlib.contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside `target` that becomes `target` when the block succeeds.

    The data is synced to disk before the rename: a kill or a full disk leaves the old file intact.
    """
    target = Path(target)
    with _telling_why(target):
        part = _new_part(target)
        try:
            yield part
            with open(part, "rb") as file:
                os.fsync(file.fileno())
            part.chmod(0o666 & ~_umask())
            part.replace(target)
            _sync_folder(target.parent)
        finally:
            part.unlink(missing_ok=True)


def write_atomic(target: Path, content: bytes | str) -> None:
    """Replace the content of `target`, whole or not at all."""
    data = content.encode() if isinstance(content, str) else content
    with atomic_path(target) as part:
        part.write_bytes(data)


def append_line(target: Path, line: str) -> None:
    """Add a line to the end of `target`, whole or not at all."""
    left = line.encode() + b"\n"
    with _telling_why(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "ab", buffering=0) as file:
            before = os.fstat(file.fileno()).st_size
            try:
                while left:
                    left = left[file.write(left) :]
            except OSError:
                with contextlib.suppress(OSError):  # a device or pipe cannot be truncated
                    file.truncate(before)
                raise


@contextlib.contextmanager
def _telling_why(target: Path) -> Iterator[None]:
    """Turn system errors about writing `target` into messages that say what to do."""
    try:
        yield
    except OSError as error:
        if _is_full(error):
            raise UnwritableError(
                f"no space left on the disk of {target.parent}; free some and run again "
                f"({target.name} is unchanged)"
            ) from error
        if error.errno in REASONS:
            raise UnwritableError(
                f"cannot write {target}: {REASONS[error.errno]}; choose another place"
            ) from error
        raise


def _is_full(error: OSError) -> bool:
    # NumPy gives no errno, only the number of items written.
    cut_short = error.errno is None and "requested and" in str(error)
    return cut_short or error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _new_part(target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(handle)
    return Path(name)


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
