"""A folder that keeps receiving images."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from scale._errors import InputError
from scale.data.listing import is_clutter
from scale.data.pixels import BadImageError, read_pixels, to_rgb
from scale.live.intake import Intake, Item
from scale.live.pictures import Frame
from scale.live.reader import Reader, Tell

PATIENCE = 10.0
"""Seconds that a file which cannot be decoded may still be on its way."""
SCAN_SHARE = 0.2  # of the time that may go into looking at a large folder
LARGEST_FILE = 500_000_000  # bytes
WAITING, GONE, RENAMED = "waiting", "gone", "renamed"
NO_STAMP = "0:0:0"


@dataclass(frozen=True, order=True)
class Found:
    """A file in the folder; sorted by time, then by name."""

    mtime: int  # nanoseconds
    path: str
    size: int
    inode: int
    name: str = field(compare=False)
    """The path as the system knows it; `path` is text."""

    def age(self) -> float:
        """Return the seconds since it was written; a clock that differs counts as well."""
        return abs(time.time() - self.mtime / 1e9)

    @property
    def content(self) -> tuple[str, int, int]:
        """Path, size and time, which change when the file does."""
        return self.path, self.size, self.mtime

    @property
    def stamp(self) -> str:
        """What identifies the content, for the store."""
        return f"{self.size}:{self.mtime}:{self.inode}"


class FolderReader(Reader):
    """Looks at a folder and its sub-folders again and again.

    A file is read when its size and time are the same in two looks, or when it has not been
    written for a while. One that cannot be decoded gets ten seconds more. What is there at the
    first start comes by name, what arrives later by time and then by name. A file that changes
    comes again; a renamed one does not. Links are not followed, hidden files not read.

    Parameters
    ----------
    uri
        The folder.
    once
        End after what the folder holds.
    poll_seconds
        Seconds between two looks.
    leave_out
        A folder inside it that is not looked at: that of the live learner.
    """

    kind = "folder"

    def __init__(
        self, uri: str, *, once: bool, poll_seconds: float, leave_out: Path | None = None
    ) -> None:
        super().__init__(uri)
        self.folder, self.once, self.poll_seconds = Path(uri), once, poll_seconds
        self.leave_out = None if leave_out is None else os.path.realpath(leave_out)
        self._known: set[int] = set()  # hashes of `Found.content`
        self._before: dict[tuple[str, int, int], float] = {}  # new files, and when first seen
        self._bad: list[str] = []  # what is wrong with files, since the last message
        self._told_bad = False

    @property
    def ends(self) -> bool:
        return self.once

    def check(self) -> None:
        try:
            os.scandir(self.folder).close()
        except OSError as error:
            raise InputError(f"cannot read the folder {self.uri}: {error.strerror}") from error

    def read(self, intake: Intake, tell: Tell) -> None:
        self._recall(intake)
        self._tell_bad(intake, tell)
        there = True
        while not intake.stopping():
            began = time.monotonic()
            try:
                found = list(self._scan())
            except OSError as error:
                if there:
                    there = _lost(intake, tell, self.uri, error)
                self._pause(intake, began)
                continue
            if not there:
                there = _back(intake, tell, self.uri)
            self._take(intake, found)
            intake.flush()
            self._tell_bad(intake, tell)
            if self.once and not self._before:
                return
            self._pause(intake, began)

    def _recall(self, intake: Intake) -> None:
        """Remember what was seen; at the first start, note what is there, to be read by name."""
        rows = intake.store.query(
            "SELECT path, stamp FROM files WHERE source = ? AND said != ?", intake.number, WAITING
        )
        for path, stamp in rows:
            size, mtime, _ = map(int, stamp.split(":"))
            self._known.add(hash((path, size, mtime)))
        if not intake.position:
            for file in self._finished():
                intake.note_file(file.path, file.stamp, WAITING)
            intake.move_to({"listed": True})
        intake.set_state("ok", "")
        self._take_first(intake)

    def _finished(self) -> list[Found]:
        """Return the files that nobody is writing, after a second look if some are new."""
        first = list(self._scan())
        if all(self._is_settled(file) for file in first):
            return first
        time.sleep(self.poll_seconds)
        before = {file.content for file in first}
        return [f for f in self._scan() if f.content in before or self._is_settled(f)]

    def _take_first(self, intake: Intake) -> None:
        """Take what was there at the first start, by name."""
        sql = "SELECT path FROM files WHERE source = ? AND said = ? ORDER BY path"
        rows = intake.store.query(sql, intake.number, WAITING)
        there = {file.path: file for file in self._scan()} if rows else {}
        for (path,) in rows:
            file = there.get(path)
            frame = None if file is None else self._load(file, 0.0)
            if file is None or frame is None:  # one that is unfinished comes later
                intake.note_file(path, NO_STAMP, GONE)
            elif not self._put(intake, file, frame):
                return
        intake.flush()

    def _take(self, intake: Intake, found: list[Found]) -> None:
        """Take the new files that are finished; remember the others for the next look."""
        now = time.monotonic()
        new = sorted(file for file in found if hash(file.content) not in self._known)
        before, self._before = self._before, {}
        for file in new:
            since = before.get(file.content)
            finished = since is not None or self._is_settled(file)
            since = now if since is None else since
            if finished and self._was_renamed(intake, file):
                self._known.add(hash(file.content))
                intake.note_file(file.path, file.stamp, RENAMED)
                continue
            frame = self._load(file, now - since) if finished else None
            if frame is None:
                self._before[file.content] = since
            elif not self._put(intake, file, frame):
                return
        intake.flush()

    def _put(self, intake: Intake, file: Found, frame: Frame | BadImageError) -> bool:
        def load() -> Frame:
            if isinstance(frame, BadImageError):
                raise frame
            return frame

        self._known.add(hash(file.content))
        if isinstance(frame, BadImageError):
            self._bad.append(f"{file.path} is skipped: {frame}")
        return intake.put(Item(file.mtime / 1e9, load, path=file.path, stamp=file.stamp))

    def _tell_bad(self, intake: Intake, tell: Tell) -> None:
        """Say which files cannot be read: the first ones to the user, all to the status."""
        if not self._bad:
            return
        more = f" (and {len(self._bad) - 1} more)" if len(self._bad) > 1 else ""
        message, self._bad = self._bad[0] + more, []
        intake.set_state("ok", message)
        if not self._told_bad:
            tell(f"{message}; scale status has the last of such files and their number")
        self._told_bad = True

    def _load(self, file: Found, waited: float) -> Frame | BadImageError | None:
        """Return the pixels of a file, or why it has none; None if it may still be on its way."""
        try:
            return to_rgb(read_pixels(_read(file.name)))
        except BadImageError as error:
            late = file.age() > PATIENCE or waited > PATIENCE
            return error if late else None

    def _is_settled(self, file: Found) -> bool:
        """Return whether a file has not been written for a while."""
        return file.age() > max(2 * self.poll_seconds, 2.0)

    def _was_renamed(self, intake: Intake, file: Found) -> bool:
        sql = "SELECT path FROM files WHERE source = ? AND stamp = ? AND path != ?"
        rows = intake.store.query(sql, intake.number, file.stamp, file.path)
        return any(not os.path.lexists(row[0]) for row in rows)  # its old name is gone

    def _scan(self) -> Iterator[Found]:
        """Yield the regular files below the folder; one that vanishes meanwhile is left out."""
        stack = [str(self.folder)]
        while stack:
            here = stack.pop()
            try:
                entries = list(os.scandir(here))
            except OSError:
                if here == str(self.folder):
                    raise
                continue
            for entry in entries:
                if is_clutter(entry.name) or entry.is_symlink():
                    continue
                if not entry.is_dir(follow_symlinks=False):
                    yield from _look(entry.path)
                elif os.path.realpath(entry.path) != self.leave_out:
                    stack.append(entry.path)

    def _pause(self, intake: Intake, began: float) -> None:
        spent = time.monotonic() - began
        end = time.monotonic() + max(self.poll_seconds, spent / SCAN_SHARE - spent)
        while not intake.stopping() and time.monotonic() < end:
            time.sleep(min(0.05, self.poll_seconds))


def _look(name: str) -> Iterator[Found]:
    """Yield a file if it is a regular one."""
    with contextlib.suppress(OSError):
        about = os.lstat(name)
        if stat.S_ISREG(about.st_mode):
            yield Found(about.st_mtime_ns, _as_text(name), about.st_size, about.st_ino, name)


def _as_text(name: str) -> str:
    """Return a path as text that a database can hold; a name may be any bytes."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _read(name: str) -> bytes:
    """Return the content of a regular file; a link that took its place is not followed."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with open(handle, "rb") as file:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode):
                raise BadImageError("it is not a regular file")
            if about.st_size > LARGEST_FILE:
                raise BadImageError(f"it has more than {LARGEST_FILE} bytes")
            return file.read(LARGEST_FILE)
    except OSError as error:
        raise BadImageError((error.strerror or "it cannot be read").lower()) from error


def _lost(intake: Intake, tell: Tell, uri: str, error: OSError) -> bool:
    why = f"{error.strerror}; waiting until it is back"
    intake.set_state("gone", why)
    tell(f"cannot read {uri}: {why}")
    return False


def _back(intake: Intake, tell: Tell, uri: str) -> bool:
    intake.set_state("ok", "")
    tell(f"{uri} is back")
    return True
