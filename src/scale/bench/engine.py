"""The interface of an engine, and the engine that runs jobs in this process."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol, Self

from scale.bench.folder import BenchFolder
from scale.bench.job import Job
from scale.bench.work import HowToRun, Status, work


@dataclass(frozen=True)
class Outcome:
    """How a job ended."""

    job: Job
    status: Status
    reason: str = ""
    seconds: float = 0.0


class Engine(Protocol):
    """Runs jobs. Start as many as `room` allows; `wait` returns those that have ended."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None:
        """Stop all jobs."""

    @property
    def workers(self) -> int:
        """Number of jobs that can run at once."""

    def room(self) -> int:
        """Return the number of jobs that can be started now."""

    def start(self, job: Job) -> None:
        """Start a job, or put it in the queue."""

    def running(self) -> list[Job]:
        """Return the jobs that were started and have not ended."""

    def wait(self, seconds: float) -> list[Outcome]:
        """Return the jobs that have ended, after about `seconds` at most."""

    def interrupt(self) -> None:
        """Ask all running jobs to save and stop."""


class InProcess:
    """One job after the other in this process; `wait` takes as long as the job does."""

    workers = 1

    def __init__(self, folder: BenchFolder, how: HowToRun) -> None:
        self.folder = folder
        self.how = how
        self._job: Job | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._job = None

    def room(self) -> int:
        return 1 if self._job is None else 0

    def start(self, job: Job) -> None:
        self._job = job

    def running(self) -> list[Job]:
        return [] if self._job is None else [self._job]

    def wait(self, seconds: float) -> list[Outcome]:
        if self._job is None:
            time.sleep(seconds)
            return []
        job, begin = self._job, time.monotonic()
        status, reason = work(job.config, self.folder.run_folder(job), self.how, job.code)
        self._job = None
        return [Outcome(job, status, reason, time.monotonic() - begin)]

    def interrupt(self) -> None:
        self._job = None
