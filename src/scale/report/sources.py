"""Where the records of a table come from: runs, benches, and files of records."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from scale._errors import InputError
from scale.bench import Record, read_records
from scale.bench.records import append_unique, portable, run_key


def read_sources(sources: Iterable[Path]) -> list[Record]:
    """Return the records of finished runs, benches and files of records.

    Parameters
    ----------
    sources
        Folders of runs, folders of benches, files of JSON lines.
    """
    return read_records([_records_path(source) for source in sources])


def keep_records(sources: Iterable[Path], path: Path) -> int:
    """Add the runs in folders to a file of records and return how many were new.

    Files of records among the sources are kept already.
    """
    records = read_sources(source for source in sources if source.is_dir())
    return append_unique(map(portable, filter(is_of_run, records)), path, run_key)


def is_of_run(record: object) -> bool:
    """Whether a line of a file is the record of a run; timings and evaluations are not."""
    return isinstance(record, dict) and "run" in record and "summary" in record


def _records_path(source: Path) -> Path:
    """Return where the records are: in a bench's folder, or the source itself."""
    if not source.is_dir() or (source / "config.json").is_file():
        return source
    records = source / "records.jsonl"
    if not records.is_file() and (source / "runs").is_dir():
        raise InputError(f"the bench in {source} has no finished run yet; wait for its first one")
    if not records.is_file():
        raise InputError(
            f"{source} is neither the folder of a run (no config.json) nor of a bench "
            "(no records.jsonl)"
        )
    return records
