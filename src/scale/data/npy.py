"""Read .npy and .npz files; sizes are checked before memory is taken, and nothing is unpickled."""

from __future__ import annotations

import contextlib
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy_format

from scale._errors import DamagedFileError, ScaleError
from scale._files import check_file
from scale._machine import check_memory

Array = npt.NDArray[Any]


def read_npy(path: Path) -> Array:
    """Return the array of a .npy file as a read-only view of the file."""
    with _telling(path, ".npy"):
        size = check_file(path).stat().st_size
        with open(path, "rb") as file:
            _check_header(file, size)
        return np.load(path, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]


class NpzFile:
    """The arrays of a .npz file, by name. They are read one at a time."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self._path, self._archive = path, archive
        members = (one for one in archive.namelist() if one.endswith(".npy"))
        self.names = sorted(one.removesuffix(".npy") for one in members)

    def read(self, name: str) -> Array:
        """Return an array; refuse one that does not fit in memory."""
        member = self._archive.getinfo(f"{name}.npy")
        with self._archive.open(member) as file:
            _check_header(file, member.file_size)
        what = f"the array {name!r} of {self._path}"
        check_memory(member.file_size, what, "save fewer images, or a .npy file")
        with self._archive.open(member) as file:
            return npy_format.read_array(file, allow_pickle=False)


@contextlib.contextmanager
def open_npz(path: Path) -> Iterator[NpzFile]:
    """Open a .npz file; any failure to read it is a `DamagedFileError`."""
    with _telling(path, ".npz"), zipfile.ZipFile(check_file(path)) as archive:
        yield NpzFile(path, archive)


def _check_header(file: IO[bytes], size: int) -> None:
    """Raise unless the header's shape and type account for all bytes of a file of `size`."""
    readers = {
        (1, 0): npy_format.read_array_header_1_0,
        (2, 0): npy_format.read_array_header_2_0,
    }
    version = npy_format.read_magic(file)
    if version not in readers:  # 3.0 is for records whose fields have names beyond Latin-1
        raise ValueError(f"its version is {version[0]}.{version[1]}, known are 1.0 and 2.0")
    shape, _, dtype = readers[version](file)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are never loaded")
    if any(side < 0 for side in shape):
        raise ValueError(f"its header claims the shape {shape}")
    claimed, there = math.prod(shape) * dtype.itemsize, size - file.tell()
    if claimed != there:
        raise ValueError(f"its header claims {claimed} bytes of data, but it has {there}")


@contextlib.contextmanager
def _telling(path: Path, kind: str) -> Iterator[None]:
    try:
        yield
    except ScaleError:
        raise
    except Exception as error:  # damaged zips and headers raise nearly every type
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DamagedFileError(
            f"{path} is damaged or not a {kind} file of numbers ({reason}); save it again"
        ) from error
