"""What a figure is drawn of: records from files and folders, and the experiment they belong to."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scale._errors import InputError, UnknownNameError
from scale.bench import Experiment, Record, load_experiment, read_records
from scale.bench.records import read_curve

Names = Sequence[str]


@dataclass(frozen=True)
class Selection:
    """The records of one figure."""

    records: list[Record]
    experiment: Experiment | None = None
    measure: str = "knn"
    folders: dict[str, Path] = field(default_factory=dict)
    """Folders of the runs that are there, by `run_id` of their records."""

    def runs(self, kind: str) -> list[Record]:
        """Return the records of runs, of which there must be some."""
        found = [record for record in self.records if "summary" in record]
        if not found:
            raise InputError(
                f"{kind} are drawn of records of runs, and there are none in what was given; "
                "timings have a figure of their own: --kind timings"
                if any("timing" in record for record in self.records)
                else f"{kind} are drawn of records of runs, and there are none in what was given"
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
    """Read records and keep those that are asked for.

    Parameters
    ----------
    sources
        Files of records, folders of benches, folders of finished runs.
    experiment
        Only the records of this one; needed when there are several.
    measure
        What is drawn; the experiment's own measure, or kNN, when not given.
    methods
        Methods or variants to keep, all when empty; likewise `datasets` and `streams`.
    """
    records, folders = _read(sources)
    if not records:
        raise InputError("there are no records in what was given; scale bench and scale run do")
    name = _one_experiment(records, experiment)
    if experiment is not None:
        records = [record for record in records if record.get("experiment") == name]
    known = _load(name, sources) if name is not None else None
    records = _keep(records, methods, "method", _method_names)
    records = _keep(records, datasets, "dataset", lambda r: [_where(r).get("dataset", "")])
    records = _keep(records, streams, "stream", lambda r: [_where(r).get("stream", "")])
    return Selection(records, known, measure or (known.measure if known else "knn"), folders)


def run_id(record: Record) -> str:
    """Return what a record has in common with the folder that it was made from."""
    return json.dumps({**record["run"], "threads": None}, sort_keys=True)


def _read(sources: Iterable[Path]) -> tuple[list[Record], dict[str, Path]]:
    records: list[Record] = []
    folders: dict[str, Path] = {}
    for source in sources:
        bench = source.is_dir() and (source / "records.jsonl").is_file()
        path = source / "records.jsonl" if bench else source
        if source.is_dir() and not bench and not (source / "config.json").is_file():
            raise InputError(
                f"{source} is neither the folder of a bench (no records.jsonl) nor of a run "
                "(no config.json)"
            )
        for record in read_records([path]):
            folder = source if path.is_dir() else _run_folder(path.parent, record)
            if folder is not None and "run" in record:
                folders[run_id(record)] = folder
                if "curve" not in record and (curve := read_curve(folder)):
                    record["curve"] = curve  # the record is older than curves in records
            records.append(record)
    return records, folders


def _run_folder(bench: Path, record: Record) -> Path | None:
    found = sorted((bench / "runs").glob(f"*-{record['job']}")) if record.get("job") else []
    return found[0] if found else None


def _one_experiment(records: list[Record], wanted: str | None) -> str | None:
    names = sorted({record["experiment"] for record in records if record.get("experiment")})
    if wanted is not None and wanted not in names:
        told = ", ".join(names) or "none"
        raise UnknownNameError(f"no record is of experiment {wanted!r} (there are: {told})")
    if wanted is None and len(names) > 1:
        raise InputError(
            f"the records are of several experiments ({', '.join(names)}); choose one with "
            "--experiment"
        )
    return wanted or (names[0] if names else None)


def _load(name: str, sources: Iterable[Path]) -> Experiment | None:
    """Return the experiment as it was run, or the built-in one, or nothing."""
    for source in sources:
        beside = (source if source.is_dir() else source.parent) / f"{name}.toml"
        if beside.is_file():
            return load_experiment(str(beside))
    try:
        return load_experiment(name)
    except UnknownNameError:
        return None  # the user's own, whose file is elsewhere


def _keep(
    records: list[Record], wanted: Names, what: str, names: Callable[[Record], list[str]]
) -> list[Record]:
    there = {name for record in records for name in names(record) if name}
    for name in wanted:
        if name not in there:
            raise UnknownNameError(
                f"no record is of {what} {name!r} (there are: {', '.join(sorted(there)) or 'none'})"
            )
    return [record for record in records if not wanted or set(names(record)) & set(wanted)]


def _where(record: Record) -> Record:
    found: Record = record["run"] if "run" in record else record.get("axes", {})
    return found


def _method_names(record: Record) -> list[str]:
    place = _where(record)
    return [place.get("method", ""), place.get("memory_policy", ""), record.get("variant", "")]
