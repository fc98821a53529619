"""Records of finished runs: one JSON line each, small enough to keep in a repository."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from scale._errors import DamagedFileError, InputError

Record = dict[str, Any]


def read_run(folder: Path) -> Record:
    """Return the record of a finished run: its config, versions, data and summary."""
    if not (folder / "summary.json").is_file():
        raise InputError(
            f"{folder} holds no finished run; go on with it: scale run --out ... --resume"
        )
    record: Record = json.loads((folder / "config.json").read_text())
    record["summary"] = json.loads((folder / "summary.json").read_text())
    return record


def append_records(folders: Iterable[Path], path: Path) -> int:
    """Add runs to a file of records and return how many were new; equal configs count once."""
    known = {_key(record) for record in read_records([path])} if path.exists() else set()
    added = 0
    records = [read_run(folder) for folder in folders]
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as file:
        for record in records:
            if _key(record) not in known:
                known.add(_key(record))
                file.write(json.dumps(_portable(record)) + "\n")
                added += 1
    return added


def append_evaluation(
    folder: Path, bank_size: int | None, measures: dict[str, Any], path: Path
) -> None:
    """Add an evaluation of a run's learner with another bank to a file of JSON lines."""
    record = json.loads((folder / "config.json").read_text())
    line = {"run": record["run"], "bank_size": bank_size, "measures": measures}
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as file:
        file.write(json.dumps({**line, "versions": record["versions"]}) + "\n")


def read_records(paths: Iterable[Path]) -> list[Record]:
    """Return the records in files of JSON lines and in folders of finished runs."""
    records: list[Record] = []
    for path in paths:
        if path.is_dir():
            records.append(read_run(path))
            continue
        if not path.is_file():
            raise InputError(f"there is no file or run folder {path}")
        try:
            records += [json.loads(line) for line in path.read_text().splitlines() if line]
        except ValueError as error:
            raise DamagedFileError(f"{path} is not a file of records: {error}") from error
    return records


def _portable(record: Record) -> Record:
    """Return a record without the paths of the machine that it was made on."""
    data = {key: value for key, value in record["data"].items() if key != "source"}
    data["skipped"] = [Path(name).name for name in data["skipped"]]
    return {**record, "data": data}


def _key(record: Record) -> str:
    return json.dumps(record["run"], sort_keys=True)
