"""Read and select records of runs, benches and files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scale._errors import InputError, UnknownNameError
from scale._files import as_path
from scale._names import did_you_mean
from scale.bench import Experiment, Record, load_experiment, read_records
from scale.bench.records import append_unique, portable, read_curve, run_key
from scale.report.names import code_of
from scale.runs.run_folder import no_run

Names = Sequence[str]


@dataclass(frozen=True)
class Selection:
    """The records of one figure."""

    records: list[Record]
    experiment: Experiment | None = None
    measure: str = "knn"
    folders: dict[str, Path] = field(default_factory=dict)
    """Folders of the runs, by `run_id` of their records."""


def read_sources(sources: Iterable[Path]) -> list[Record]:
    """Return the records of finished runs, benches and files of records.

    Parameters
    ----------
    sources
        Folders of runs, folders of benches, files of JSON lines.
    """
    return _read(sources)[0]


def keep_records(sources: Iterable[Path], path: Path) -> int:
    """Add the runs in folders to a file of records; return how many were new.

    Files of records among the sources are ignored.
    """
    path = as_path("path", path)
    records = read_sources(source for source in sources if source.is_dir())
    return append_unique(map(portable, filter(is_of_run, records)), path, run_key)


def is_of_run(record: object) -> bool:
    """Return whether a line of a file is the record of a run, not of an evaluation or benchmark."""
    return isinstance(record, dict) and "run" in record and "summary" in record


def runs_of(records: Sequence[Record]) -> list[Record]:
    """Return the records of runs; raise `InputError` if there are none."""
    if not isinstance(records, Sequence) or isinstance(records, str | bytes):
        raise InputError(f"records must be a list, got a {type(records).__name__}")
    found = [record for record in records if is_of_run(record)]
    if not found:
        raise InputError(
            f"there are no records of runs among the {len(records)} line(s) given; "
            "scale run and scale bench make them"
        )
    return found


def select(
    sources: Iterable[Path],
    *,
    experiment: str | None = None,
    measure: str | None = None,
    methods: Names = (),
    datasets: Names = (),
    streams: Names = (),
) -> Selection:
    """Return the records of runs that match the options, with their experiment and measure.

    Parameters
    ----------
    sources
        Files of records, folders of benches, folders of finished runs.
    experiment
        Name of one experiment; needed if there are records of several.
    measure
        Measure to draw. The default is the experiment's, or kNN.
    methods, datasets, streams
        Names to keep; empty keeps all. `methods` may also name variants.
    """
    sources = list(sources)
    found, folders = _read(sources)
    records = runs_of(found)
    name = _one_experiment(records, experiment)
    if experiment is not None:
        records = [record for record in records if record.get("experiment") == name]
    known = _load(name, sources) if name is not None else None
    records = choose(records, methods=methods, datasets=datasets, streams=streams)
    return Selection(records, known, measure or (known.measure if known else "knn"), folders)


def choose(
    records: list[Record], *, methods: Names = (), datasets: Names = (), streams: Names = ()
) -> list[Record]:
    """Return the records of these methods or variants, datasets and streams; of all when empty."""
    records = _keep(records, methods, "method", _method_names)
    records = _keep(records, datasets, "dataset", lambda record: [record["run"]["dataset"]])
    return _keep(records, streams, "stream", lambda record: [record["run"]["stream"]])


def run_id(record: Record) -> str:
    """Return a key that a record shares with the folder of its run."""
    run = {**record["run"], "threads": None}
    return json.dumps([run, code_of(record).get("digest")], sort_keys=True)


def run_folders(sources: Iterable[Path]) -> list[Path]:
    """Return the folders of runs in sources: runs, finished or not, benches, folders of runs."""
    folders: list[Path] = []
    for source in sources:
        if not source.is_dir():
            raise InputError(f"{source} is not a folder; give folders of runs or benches")
        if (source / "config.json").is_file():
            folders.append(source)
        else:
            below = (sorted(source.glob(f"{part}*/config.json")) for part in ("runs/", ""))
            runs = [path.parent for path in next((found for found in below if found), [])]
            if not runs and (source / "watch.json").is_file():
                raise InputError(no_run(source))
            if not runs:
                raise InputError(f"{source} holds no run and no bench with a run; check the path")
            folders += runs
    if not folders:
        raise InputError("nothing to show: name folders of runs or benches")
    return folders


def _read(sources: Iterable[Path]) -> tuple[list[Record], dict[str, Path]]:
    """Return the records, and the folders of their runs if they exist."""
    records: list[Record] = []
    folders: dict[str, Path] = {}
    if isinstance(sources, str | os.PathLike) or not isinstance(sources, Iterable):
        raise InputError(f"sources must be a list of paths, got a {type(sources).__name__}")
    for source in (as_path("a source", one) for one in sources):
        path = _records_path(source)
        for record in read_records([path]):
            records.append(record)
            folder = source if path.is_dir() else _run_folder(path.parent, record)
            if folder is not None and is_of_run(record):
                folders[run_id(record)] = folder
                if "curve" not in record and (curve := read_curve(folder)):
                    record["curve"] = curve  # older records have no curve
    return records, folders


def _records_path(source: Path) -> Path:
    """Return the path of the records: in a bench's folder, or the source itself."""
    if not source.is_dir() or (source / "config.json").is_file():
        return source
    records = source / "records.jsonl"
    if not records.is_file() and (source / "runs").is_dir():
        raise InputError(f"the bench in {source} has no finished run yet; wait for its first one")
    if not records.is_file() and (source / "watch.json").is_file():
        raise InputError(no_run(source))
    if not records.is_file():
        raise InputError(
            f"{source} is neither the folder of a run (no config.json) nor of a bench "
            "(no records.jsonl); give one of these, or a file of records"
        )
    return records


def _run_folder(bench: Path, record: object) -> Path | None:
    job = record.get("job") if isinstance(record, dict) else None
    found = sorted((bench / "runs").glob(f"*-{job}")) if job else []
    return found[0] if found else None


def _one_experiment(records: list[Record], wanted: str | None) -> str | None:
    names = sorted({record["experiment"] for record in records if record.get("experiment")})
    if wanted is not None and wanted not in names:
        raise _nothing_of("experiment", wanted, names)
    if wanted is None and len(names) > 1:
        raise InputError(
            f"the records are of several experiments ({', '.join(names)}); choose one with "
            "--experiment"
        )
    return wanted or (names[0] if names else None)


def _load(name: str, sources: Iterable[Path]) -> Experiment | None:
    """Return the experiment from the bench's folder, or the built-in one, or None."""
    for source in sources:
        beside = (source if source.is_dir() else source.parent) / f"{name}.toml"
        if beside.exists():
            return load_experiment(str(beside))
    try:
        return load_experiment(name)
    except UnknownNameError:
        return None  # a user's experiment, whose file is elsewhere


def _keep(
    records: list[Record], wanted: Names, what: str, names: Callable[[Record], list[str]]
) -> list[Record]:
    there = {name for record in records for name in names(record) if name}
    for name in wanted:
        if name not in there:
            raise _nothing_of(what, name, sorted(there))
    return [record for record in records if not wanted or set(names(record)) & set(wanted)]


def _nothing_of(what: str, name: str, there: list[str]) -> UnknownNameError:
    listed = ", ".join(there) or "none"
    hint = did_you_mean(name, there)
    return UnknownNameError(f"no record is of {what} {name!r}{hint} (there are: {listed})")


def _method_names(record: Record) -> list[str]:
    run = record["run"]
    return [run["method"], run.get("memory_policy", ""), record.get("variant", "")]
