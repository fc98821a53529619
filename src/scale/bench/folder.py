"""The folder of a bench: a folder for each run, and the records of the finished ones."""

from __future__ import annotations

import contextlib
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from scale._errors import InputError
from scale._files import as_path, write_atomic
from scale._locks import LockedError, hold
from scale.bench.experiment import Experiment
from scale.bench.job import Job, setting_of
from scale.bench.records import Record, append_unique, portable, read_records, read_run
from scale.runs import code_label


class BenchFolder:
    """The runs of a bench and their records. Several benches may share a folder.

    Parameters
    ----------
    path
        The folder; created if it is missing.
    any_code
        Accept finished runs with a job's settings even if other code made them.
    """

    def __init__(self, path: Path, *, any_code: bool = False) -> None:
        self.path = path = as_path("path", path)
        self.any_code = any_code
        self.records_path = path / "records.jsonl"
        try:
            (path / "runs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                f"cannot make the folder {path}: {error.strerror}; choose another with --out"
            ) from error
        records = self.records()
        self._known = {_key(record) for record in records}
        self._by_hash = {record.get("job"): record for record in records}
        self._by_setting = {setting_of(r["run"]): r for r in records if "run" in r}

    def keep(self, experiment: Experiment) -> None:
        """Write the experiment's file beside its records."""
        write_atomic(self.path / f"{experiment.name}.toml", experiment.text)

    def run_folder(self, job: Job) -> Path:
        """Return the folder of the job's run."""
        return self.path / "runs" / job.name

    def log(self, job: Job) -> Path:
        """Return the log of the job's run."""
        return self.run_folder(job) / "log.txt"

    def records(self) -> list[Record]:
        """Return the records so far."""
        return read_records([self.records_path]) if self.records_path.exists() else []

    def finished(self, job: Job) -> bool:
        """Return whether any bench has finished the job's run; add its record if it is missing."""
        if _key(job.marks) in self._known:
            return True
        if (self.run_folder(job) / "summary.json").is_file():
            self.add({**portable(read_run(self.run_folder(job))), **job.marks})
            return True
        if job.hash in self._by_hash:  # a run of another experiment, whose folder is gone
            self.add({**self._by_hash[job.hash], **job.marks})
            return True
        if self.any_code and job.setting in self._by_setting:
            found = self._by_setting[job.setting]
            self.add({**found, **job.marks, "job": found.get("job")})
            return True
        return False

    def of_other_code(self, jobs: Sequence[Job]) -> Counter[str]:
        """Return, for each other code, the number of finished runs with a job's settings."""
        others = [self._by_setting[job.setting] for job in jobs if job.setting in self._by_setting]
        return Counter(map(code_label, others))

    def add(self, record: Record) -> None:
        """Add a record if it is new."""
        append_unique([record], self.records_path, _key)
        self._known.add(_key(record))


class JobBusyError(Exception):
    """Another process works on this run."""


@contextlib.contextmanager
def claim(run_folder: Path) -> Iterator[None]:
    """Hold a run for this process; raise `JobBusyError` when another process holds it."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(hold(run_folder / ".job"))
        except LockedError as error:
            raise JobBusyError(run_folder.name) from error
        yield


def is_free(run_folder: Path) -> bool:
    """Return whether no process holds the run."""
    try:
        with claim(run_folder):
            return True
    except JobBusyError:
        return False


def tidy(run_folder: Path, *, keep_learner: bool) -> None:
    """Delete the checkpoints of a finished run, which are most of its size."""
    shutil.rmtree(run_folder / "checkpoints", ignore_errors=True)
    if not keep_learner:
        (run_folder / "learner.safetensors").unlink(missing_ok=True)


def _key(record: Record) -> str:
    marks = [record.get(name) for name in ("experiment", "variant", "job")]
    return json.dumps(marks)
