"""The members of a tar file: names and places are listed, nothing is extracted."""

from __future__ import annotations

import contextlib
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from scale._errors import DamagedFileError, InputError, ScaleError
from scale._files import check_file
from scale._machine import in_words

LARGEST_MEMBER = 1 << 28  # bytes of an encoded image
LARGEST_TEXT = 1 << 20  # bytes of a label, a description, or a header of tar itself
_BLOCK = 512
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")


@dataclass(frozen=True)
class Member:
    """A regular file in a tar file, and where its content is."""

    name: str
    offset: int
    size: int


def list_members(path: Path) -> Iterator[tuple[Member, IO[bytes]]]:
    """Yield the regular files of an uncompressed tar file with the open tar file, in order.

    Links, folders and devices are left out. A name is only text: nothing is written, and no other
    file is opened.
    """
    with _telling(path), open(check_file(path), "rb") as file:
        size = file.seek(0, 2)
        if not size:
            raise tarfile.ReadError("it is empty")
        file.seek(0)
        if file.read(6).startswith(_COMPRESSED):
            raise InputError(f"{path} is compressed; decompress it, images hardly get smaller")
        file.seek(0)
        with tarfile.TarFile(fileobj=_Headers(file)) as tar:  # type: ignore[arg-type]
            while (one := tar.next()) is not None:
                tar.members.clear()  # type: ignore[attr-defined]  # millions would fill memory
                if one.issparse():
                    raise tarfile.ReadError(f"its member {one.name!r} is sparse")
                if one.offset_data + max(one.size, 0) > size or one.size < 0:
                    raise tarfile.ReadError(f"it ends within its member {one.name!r}")
                if one.isreg():
                    yield Member(one.name, one.offset_data, one.size), file
            end = tar.offset
        file.seek(end)
        if file.read(_BLOCK) != bytes(_BLOCK):  # tarfile takes a bad header for the end
            raise tarfile.ReadError(f"it has no header and no end at byte {end}")


def read_member(file: IO[bytes], member: Member, path: Path, most: int = LARGEST_MEMBER) -> bytes:
    """Return the content of a member; refuse one of more than `most` bytes."""
    if member.size > most:
        raise InputError(
            f"{member.name!r} in {path} has {in_words(member.size)}, at most {in_words(most)} are "
            "read; take it out"
        )
    file.seek(member.offset)
    content = file.read(member.size)
    if len(content) != member.size:
        raise DamagedFileError(f"{path} ends within its member {member.name!r}; get it again")
    return content


class _Headers:
    """A file of which `tarfile` reads headers only; none is large, whatever its size claims."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.tell, self.seek = file.tell, file.seek

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= LARGEST_TEXT:
            raise tarfile.ReadError(f"one of its headers claims {size} bytes")
        return self._file.read(size)


@contextlib.contextmanager
def _telling(path: Path) -> Iterator[None]:
    try:
        yield
    except ScaleError:
        raise
    except Exception as error:  # damaged headers raise nearly every type
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise DamagedFileError(
            f"{path} is damaged, encrypted or not a tar file ({reason}); get it again"
        ) from error
