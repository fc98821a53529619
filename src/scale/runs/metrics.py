"""The metrics of a run: an append-only file of JSON lines."""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any

from scale._errors import DamagedFileError, InputError, ScaleError
from scale._files import check_file
from scale._schema import read_table
from scale.runs.run_folder import parse_json
from scale.runs.schemas import LINES

REMEDY = "put back a copy of the file, or run again with a new --out"


class MetricsFile:
    """An append-only file of JSON lines that can be truncated to its size at a checkpoint.

    It holds no times, so equal runs have equal files.
    """

    def __init__(self, path: Path, size: int = 0, digest: str | None = None) -> None:
        """Open `path` and truncate it to `size` bytes, whose digest must be `digest` if given."""
        try:
            path.touch()
            check_file(path)  # a pipe would be waited for
            with open(path, "rb") as file:
                kept = file.read(size)
            if len(kept) < size:
                raise DamagedFileError(
                    f"{path} is shorter than at the checkpoint ({len(kept)} bytes of {size}); "
                    f"{REMEDY}"
                )
            self._digest = hashlib.sha256(kept)
            if digest not in (None, self.digest()):
                raise DamagedFileError(f"{path} was changed since the checkpoint; {REMEDY}")
            os.truncate(path, size)
            self._file = open(path, "ab")  # noqa: SIM115 - closed by close()
        except OSError as error:
            raise ScaleError(f"cannot write {path} ({error.strerror}); {REMEDY}") from error
        self.path = path

    def append(self, record: dict[str, Any]) -> None:
        """Add one line."""
        line = json.dumps(record).encode() + b"\n"
        try:
            self._file.write(line)
            self._file.flush()
            self._digest.update(line)
        except OSError as error:
            raise ScaleError(
                f"cannot write {self.path} ({error.strerror}); free space and run with --resume"
            ) from error

    def sync(self) -> int:
        """Write the file to disk and return its size."""
        os.fsync(self._file.fileno())
        return self._file.tell()

    def digest(self) -> str:
        """Return a SHA-256 digest of the content, to notice a change."""
        return self._digest.hexdigest()

    def records(self, kind: str) -> list[dict[str, Any]]:
        """Return the records of one kind so far."""
        return read_metrics(self.path, kind)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_metrics(path: Path, kind: str) -> list[dict[str, Any]]:
    """Return the records of one kind (``batch`` or ``evaluation``) in a metrics file."""
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise DamagedFileError(f"{path} cannot be read ({error.strerror}); {REMEDY}") from error
    lines.pop()  # a kill can leave half a line at the end
    records = [_parse_line(line, f"line {i} of {path}") for i, line in enumerate(lines, start=1)]
    return [record for record in records if record["kind"] == kind]


def _parse_line(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = parse_json(line)
        kind = record.get("kind")
        if kind not in LINES:
            raise InputError(f"its kind must be one of {', '.join(LINES)}, got {kind!r}")
        read_table(record, LINES[kind], "it")
    except (ValueError, TypeError) as error:
        raise DamagedFileError(f"{where} is damaged ({error}); {REMEDY}") from error
    return record


def plain(value: float) -> float | None:
    """Return a number for JSON: None for NaN and infinities."""
    return float(value) if math.isfinite(value) else None
