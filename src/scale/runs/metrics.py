"""The metrics of a run: an append-only file of JSON lines."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from scale._errors import DamagedFileError, ScaleError


class MetricsFile:
    """An append-only file of JSON lines that can be truncated to its size at a checkpoint.

    It holds no times, so equal runs have equal files.
    """

    def __init__(self, path: Path, size: int = 0) -> None:
        """Open `path` and truncate it to `size` bytes."""
        path.touch()
        if path.stat().st_size < size:
            raise ScaleError(
                f"{path} is shorter than at the last checkpoint; put back a copy of it, or start "
                "again with a new --out"
            )
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


def plain(value: float) -> float | None:
    """Return a number for JSON: None for NaN and infinities."""
    return float(value) if math.isfinite(value) else None
