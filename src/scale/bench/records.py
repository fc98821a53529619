"""Records of finished runs: one JSON line each, small enough to keep in a repository."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from scale._errors import DamagedFileError, InputError, ScaleError
from scale._files import append_line, as_path, check_file
from scale._locks import wait_for
from scale.bench.record_schema import REMEDY, check_record
from scale.runs import read_metrics
from scale.runs.code import digests_in
from scale.runs.config import read_config
from scale.runs.run_folder import SUMMARY_REMEDY, read_json

Record = dict[str, Any]
ON_THE_WAY = ("knn", "acc")
"""Measures along the stream that a record keeps."""


def read_run(folder: Path) -> Record:
    """Return the record of a finished run: config, versions, code, data, summary and curve."""
    folder = as_path("folder", folder)
    if not (folder / "summary.json").is_file():
        raise InputError(
            f"{folder} holds no finished run; go on with it: scale run --out ... --resume"
        )
    record: Record = read_config(folder)
    record["summary"] = read_json(folder / "summary.json", SUMMARY_REMEDY)
    if curve := read_curve(folder):
        record["curve"] = curve
    return check_record(record, f"the run in {folder}")


def read_curve(folder: Path) -> dict[str, list[float]]:
    """Return a run's measures along the stream, one list each; empty without labels."""
    path = folder / "metrics.jsonl"
    evaluations = read_metrics(path, "evaluation") if path.is_file() else []
    measured = [name for name in ON_THE_WAY if all(name in point for point in evaluations)]
    if not evaluations or not measured:
        return {}
    return {
        name: [round(point[name], 4) for point in evaluations] for name in ("position", *measured)
    }


def append_records(folders: Iterable[Path], path: Path) -> int:
    """Add runs to a file of records; return how many were new. Equal runs count once."""
    return append_unique([portable(read_run(folder)) for folder in folders], path, run_key)


def append_evaluation(
    folder: Path,
    bank_size: int | None,
    measures: dict[str, Any],
    path: Path,
    warnings: Sequence[str] = (),
) -> None:
    """Append an evaluation of a run's learner with another bank, as one JSON line.

    `warnings` are those of the evaluation, for example that the data has changed since the run.
    """
    record = read_config(folder)
    line = {"run": record["run"], "bank_size": bank_size, "measures": measures}
    if warnings:
        line["warnings"] = list(warnings)
    kept = ("versions", "code", "later_code")
    append_line(path, json.dumps(line | {name: record[name] for name in kept if name in record}))


def append_unique(records: Iterable[Record], path: Path, key: Callable[[Record], str]) -> int:
    """Add the records whose keys are new to the file; return their number.

    Several processes may append at once. A killed process leaves no broken line.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            check_file(path)
        with wait_for(path.with_name(f".{path.name}.lock")), open(path, "a+b") as file:
            file.seek(0)
            content = file.read()
            whole = content.rfind(b"\n") + 1
            if whole < len(content):
                if _is_json(content[whole:]):  # a complete last line without a newline
                    file.write(b"\n")
                    whole = len(content)
                else:
                    file.truncate(whole)  # half a line of a killed process
            known = {key(record) for record in _parse(content[:whole], path)}
            new = {key(record): record for record in records if key(record) not in known}
            file.write(b"".join(json.dumps(record).encode() + b"\n" for record in new.values()))
            file.flush()
            os.fsync(file.fileno())
            return len(new)
    except OSError as error:
        raise ScaleError(f"cannot write {path}: {error.strerror}") from error


def read_records(paths: Iterable[Path]) -> list[Record]:
    """Return the records in files of JSON lines and in folders of finished runs."""
    records: list[Record] = []
    if isinstance(paths, str | os.PathLike) or not isinstance(paths, Iterable):
        raise InputError(f"expected a list of paths, got a {type(paths).__name__}")
    for path in (as_path("a path of records", one) for one in paths):
        if path.is_dir():
            records.append(read_run(path))
            continue
        records += _parse(_content(path), path)
    return records


def portable(record: Record) -> Record:
    """Return a record without paths of the machine that made it."""
    data = {key: value for key, value in record["data"].items() if key != "source"}
    data["skipped"] = [Path(name).name for name in data["skipped"]]
    return {**record, "data": data}


def run_key(record: Record) -> str:
    """Return a key of a record's run: its config and its code."""
    return json.dumps([record["run"], digests_in(record)], sort_keys=True)


def _content(path: Path) -> bytes:
    try:
        return check_file(path).read_bytes()
    except OSError as error:
        raise DamagedFileError(f"cannot read {path}: {error.strerror}") from error


def _parse(content: bytes, path: Path) -> list[Record]:
    lines = content.split(b"\n")
    if lines[-1] and not _is_json(lines[-1]):
        lines.pop()  # another process is writing it, or was killed
    records = []
    for number, line in enumerate(lines, start=1):
        where = f"line {number} of {path}"
        if line.strip():
            try:
                found = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DamagedFileError(f"{where} is not JSON ({error}); {REMEDY}") from error
            records.append(check_record(found, where))
    return records


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
