"""Standard output and error that may be lost: a closed pipe, a full disk, a terminal that is gone.

A command's *results* go to `sys.stdout`, and failing to write them is an error. Its *news*
(progress, and where files are) go through `News`: to lose them stops no work.
"""

from __future__ import annotations

import codecs
import contextlib
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO, cast

from scale._text import printable

LIBRARIES = r"(numpy|scipy|sklearn)\b"
"""Modules whose warnings about single numbers, such as a division by 0, mean nothing to a user."""
PLAIN = {"±": "+-", "…": "...", "†": "+", "‡": "++"}
"""What stands for our own signs where the encoding has none."""


def tell(text: str) -> None:
    """Write a line to standard error; nothing happens if it is closed or full."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(f"scale: {printable(text)}\n")
        sys.stderr.flush()
    except (OSError, ValueError):
        silence(sys.stderr)


@contextlib.contextmanager
def plain_warnings() -> Iterator[None]:
    """Show this package's own warnings as one line, and none about numbers inside libraries."""
    before, package = warnings.formatwarning, str(Path(__file__).parent)

    def one_line(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        line: str | None = None,
    ) -> str:
        if issubclass(category, UserWarning) and filename.startswith(package):
            return f"scale: {printable(str(message))}\n"
        return before(message, category, filename, lineno, line)

    warnings.formatwarning = one_line
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=RuntimeWarning, module=LIBRARIES)
            yield
    finally:
        warnings.formatwarning = before


def silence(stream: TextIO) -> None:
    """Send what is left and what follows of `stream` to the null device.

    Python writes the left-over of a stream when it exits, and would fail again.
    """
    with contextlib.suppress(OSError, ValueError):  # it has no file, or is closed
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


class News:
    """A stream of text on `stream` that can be lost at any moment without an error.

    A signal handler may write while the interrupted code is writing: its text comes after.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = cast(TextIO, sys.stdout if stream is None else stream)
        self._lock = threading.RLock()
        self._writing = False
        self._pending: list[str] = []

    @property
    def encoding(self) -> str:
        """Return the encoding of the stream."""
        return getattr(self.stream, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return self.stream.isatty()

    def fileno(self) -> int:
        """Return the file descriptor of the stream."""
        return self.stream.fileno()

    def write(self, text: str) -> int:
        """Write the text, or drop it."""
        with self._lock:
            self._pending.append(text)
            if self._writing:  # in a signal handler
                return len(text)
            self._writing = True
            try:
                while self._pending:
                    self.stream.write(self._pending.pop(0))
                self.stream.flush()
            except BlockingIOError:  # the reader is slow, and writes do not wait: drop this
                pass
            except (OSError, ValueError) as error:
                self._lose(error)
            finally:
                self._writing = False
        return len(text)

    def flush(self) -> None:
        """Do nothing: every write reaches the stream at once."""

    def _lose(self, error: OSError | ValueError) -> None:
        silence(self.stream)
        self.stream = open(os.devnull, "w", encoding=self.encoding)  # noqa: SIM115
        reason = getattr(error, "strerror", None) or str(error)
        tell(f"the output cannot be written ({reason}); the work goes on without it")


def open_standard_streams() -> None:
    """Make standard input, output and error usable, whatever the caller has closed.

    A closed stream gets a descriptor on which reading or writing fails: otherwise the next file
    that is opened takes its number. Characters that the encoding lacks are written as escapes.
    """
    codecs.register_error("scale-plain", _plain)
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            _occupy(number, os.O_WRONLY if mode == "r" else os.O_RDONLY)
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
    for output in (sys.stdout, sys.stderr):
        if getattr(output, "errors", None) in ("strict", "backslashreplace"):
            with contextlib.suppress(AttributeError, OSError, ValueError):
                output.reconfigure(errors="scale-plain")  # type: ignore[union-attr]


def _occupy(number: int, flags: int) -> None:
    try:
        os.fstat(number)
    except OSError:
        null = os.open(os.devnull, flags)
        if null != number:
            os.dup2(null, number)
            os.close(null)


def _plain(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    plain = "".join(PLAIN.get(one, one) for one in unknown)
    return plain.encode("ascii", "backslashreplace").decode(), error.end


class LostOutputError(OSError):
    """Standard output cannot be written, so the results are lost."""


class Results:
    """Standard output whose errors are known as its own, whatever buffers it has."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Write the text or raise LostOutputError."""
        with _known_as_lost():
            return self.stream.write(text)

    def flush(self) -> None:
        """Write what is left or raise LostOutputError."""
        with _known_as_lost():
            self.stream.flush()


@contextlib.contextmanager
def _known_as_lost() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise LostOutputError(error.errno, error.strerror) from error


@contextlib.contextmanager
def standard_streams() -> Iterator[None]:
    """Run a command with streams that work; at its end its results are written, or it fails."""
    open_standard_streams()
    stream = sys.stdout
    sys.stdout = cast(TextIO, Results(stream))
    try:
        try:
            yield
        except SystemExit:  # after --help
            sys.stdout.flush()
            raise
        sys.stdout.flush()
    finally:
        sys.stdout = stream
        try:
            stream.flush()
        except (OSError, ValueError):
            silence(stream)
