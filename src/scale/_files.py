"""Files: one check before a file is read, and writes that are whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from scale._errors import DamagedFileError, InputError, UnwritableError
from scale._names import shown

LONGEST_NAME = 255  # bytes of a name, on all usual file systems
ABANDONED_SECONDS = 3600.0
"""Age at which the unfinished file of a writer counts as left behind."""
REASONS = {
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EROFS: "its disk is read-only",
    errno.EISDIR: "it is a folder",
    errno.ENOTDIR: "a file is where a folder on its path should be",
    errno.EEXIST: "a file is where a folder on its path should be",
    errno.ENAMETOOLONG: "its name is too long",
}


def as_path(name: str, value: object) -> Path:
    """Return `value`, a path or its text, as a path; `name` is that of the argument in errors."""
    if not isinstance(value, str | os.PathLike):
        raise InputError(f"{name} must be a path, got a {type(value).__name__}")
    if value == "":
        raise InputError(f"{name} must be a path, got an empty text")
    path = Path(value)
    long = any(len(os.fsencode(part)) > LONGEST_NAME for part in path.parts)
    if long or "\0" in str(path):
        raise InputError(
            f"{name} must be a path of names of at most {LONGEST_NAME} bytes without NUL, got "
            f"{shown(str(path))}"
        )
    return path


def check_file(path: Path) -> Path:
    """Return `path` if it is a regular file that may be read; opening a pipe would wait forever.

    Raises
    ------
    InputError
        There is no such file, or it is a folder, a pipe, a socket or a device, or its permissions
        forbid to read it.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        if getattr(error, "errno", None) == errno.ELOOP:
            raise InputError(f"{path} is a link to itself; give the file") from error
        if getattr(error, "errno", None) == errno.EACCES:
            raise InputError(f"cannot read {path}: permission denied; change it") from error
        raise InputError(f"there is no file {path}; check the path") from error
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a folder; give a file")
    if not stat.S_ISREG(mode):
        raise InputError(f"{path} is a pipe, a socket or a device; give a regular file")
    if not os.access(path, os.R_OK):
        raise InputError(f"cannot read {path}: permission denied; change it")
    return path


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file.

    Raises
    ------
    InputError
        See `check_file`.
    DamagedFileError
        The file is in another encoding, or the disk cannot read it.
    """
    try:
        return check_file(path).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DamagedFileError(
            f"{path} is not a text in UTF-8 (byte {error.start}); save it in this encoding"
        ) from error
    except OSError as error:
        raise DamagedFileError(f"cannot read {path}: {error.strerror}; get it again") from error


@contextlib.contextmanager
def atomic_path(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside `target` that becomes `target` when the block succeeds.

    The data is synced to disk before the rename: a kill or a full disk leaves the old file intact.
    A link stays, and the file behind it is replaced. A device or pipe is never replaced: it gets
    the data.
    """
    target = Path(target)
    if "\0" in str(target):
        raise InputError(f"cannot write {shown(str(target))}: its name holds a NUL; change it")
    through = _is_device(target)
    if not through:
        target = Path(os.path.realpath(target))
    with _telling_why(target):
        part = _new_part(Path(tempfile.gettempdir()) / target.name if through else target)
        try:
            yield part
            if through:
                _pour(part, target)
                return
            with open(part, "rb") as file:
                os.fsync(file.fileno())
            part.chmod(0o666 & ~_umask())
            part.replace(target)
            _sync_folder(target.parent)
        finally:
            part.unlink(missing_ok=True)


class _NotNow(Exception):
    """Ends a write that was only tried."""


def check_writable(target: Path) -> None:
    """Raise `UnwritableError` before the work rather than after it. Nothing stays behind."""
    new = [folder for folder in Path(target).parents if not folder.exists()]
    try:
        with contextlib.suppress(_NotNow), atomic_path(target):
            raise _NotNow
    finally:
        for folder in new:
            with contextlib.suppress(OSError):
                folder.rmdir()


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


def _is_device(target: Path) -> bool:
    """Return whether `target` is there and is neither a file nor a folder."""
    try:
        mode = os.stat(target).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _pour(part: Path, target: Path) -> None:
    """Write the content of a finished file to a device or pipe."""
    with open(part, "rb") as source, open(target, "wb") as out:
        shutil.copyfileobj(source, out)


def _new_part(target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    _sweep(target)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(handle)
    return Path(name)


def _sweep(target: Path) -> None:
    """Delete what killed writers of `target` left; a part that still grows is younger."""
    for left in target.parent.glob(f".{glob.escape(target.name)}.*.part"):
        with contextlib.suppress(OSError):
            if time.time() - left.stat().st_mtime > ABANDONED_SECONDS:
                left.unlink()


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
