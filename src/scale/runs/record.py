"""Files of a run: its metrics as JSON lines, its JSON files, and its lock."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scale._errors import DamagedFileError, InputError, ScaleError
from scale._locks import LockedError, hold

FLOORS_REMEDY = "delete it and run with --resume: the floors are then measured again"
SUMMARY_REMEDY = "delete it and run with --resume: the end of the run is then made again"


class MetricsFile:
    """An append-only file of JSON lines that can be cut back to where a checkpoint was.

    It holds nothing that depends on time: equal runs have equal files.
    """

    def __init__(self, path: Path, size: int = 0) -> None:
        """Open `path` and cut it to its first `size` bytes."""
        path.touch()
        if path.stat().st_size < size:
            raise ScaleError(f"{path} is shorter than at the last checkpoint; it was changed")
        os.truncate(path, size)
        self.path = path
        self._file = open(path, "ab")  # noqa: SIM115 - closed by close()

    def append(self, record: dict[str, Any]) -> None:
        """Add one line."""
        try:
            self._file.write(json.dumps(record).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            raise ScaleError(
                f"cannot write {self.path} ({error.strerror}); free space and run with --resume"
            ) from error

    def sync(self) -> int:
        """Write the file to disk and return its size."""
        os.fsync(self._file.fileno())
        return self._file.tell()

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Return the records of one kind so far."""
        return read_metrics(self.path, kind)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_metrics(path: Path, kind: str) -> list[dict[str, Any]]:
    """Return the records of one kind (``batch`` or ``evaluation``) in a metrics file."""
    records = []
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if line.endswith(b"\n"):  # a kill can leave half a line at the end
                record = _parse_line(line, f"line {number} of {path}")
                if record["kind"] == kind:
                    records.append(record)
    return records


def _parse_line(line: bytes, where: str) -> dict[str, Any]:
    try:
        record: dict[str, Any] = json.loads(line)
        record["kind"]
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFileError(
            f"{where} is damaged; put back a copy of the file, or run again with a new --out"
        ) from error
    return record


def read_json(path: Path, remedy: str) -> dict[str, Any]:
    """Return the content of a JSON file of a run; `remedy` says what to do if it is damaged."""
    try:
        found = json.loads(path.read_bytes())
        if not isinstance(found, dict):
            raise ValueError(f"expected an object, found a {type(found).__name__}")
    except (OSError, ValueError) as error:
        raise DamagedFileError(f"{path} cannot be read ({error}); {remedy}") from error
    return found


def plain(value: float) -> float | None:
    """Return a number for JSON: None for NaN and infinities."""
    return float(value) if math.isfinite(value) else None


@contextlib.contextmanager
def only_here(folder: Path) -> Iterator[None]:
    """Hold the run's folder for this process during the block."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(hold(folder / ".lock"))
        except LockedError as error:
            raise InputError(
                f"another process is running in {folder}; wait for it or use another --out"
            ) from error
        yield
