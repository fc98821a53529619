"""Jobs in separate processes on this machine, each with its own threads."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from scale._machine import cores, memory_bytes
from scale.bench.engine import Outcome
from scale.bench.folder import BenchFolder
from scale.bench.job import Job
from scale.bench.work import EXIT, HowToRun, Status

STATUS: dict[int, Status] = {code: status for status, code in EXIT.items()}
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
KEEP_FREED_MEMORY = {  # else glibc unmaps large tensors at every update, a tenth of its time
    "MALLOC_MMAP_THRESHOLD_": str(2**30),
    "MALLOC_TRIM_THRESHOLD_": str(2**31 - 1),
}
BYTES_PER_WORKER = 2 * 2**30  # a run of resnet18 with the paper's batches takes about this much


@dataclass
class _Started:
    job: Job
    process: subprocess.Popen[str]
    begin: float


class Pool:
    """Up to `workers` jobs at once; a job that crashes stops no other.

    Parameters
    ----------
    folder
        Folder of the bench.
    how
        Options of every run.
    workers
        Jobs at once; by default one per core, fewer if memory is short.
    """

    def __init__(self, folder: BenchFolder, how: HowToRun, workers: int | None = None) -> None:
        self.folder = folder
        self.how = how
        self.workers = workers or usual_workers()
        self.threads = threads_each(self.workers)
        self._started: dict[int, _Started] = {}  # by process id
        self._ended: queue.Queue[int] = queue.Queue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.interrupt()
        for started in self._started.values():
            self._close(started)
            started.process.wait()

    def room(self) -> int:
        return self.workers - len(self._started)

    def start(self, job: Job) -> None:
        threads = dict.fromkeys(THREAD_VARIABLES, str(self.threads))
        log = self.folder.log(job)
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "a") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "scale.bench.worker"],
                stdin=subprocess.PIPE,
                stdout=file,
                stderr=file,
                text=True,
                env={**KEEP_FREED_MEMORY, **os.environ, **threads},
                start_new_session=True,  # the bench alone gets a Ctrl-C, and passes it on
            )
        self._started[process.pid] = _Started(job, process, time.monotonic())
        request = {
            "config": job.config.to_json(),
            "folder": str(self.folder.run_folder(job)),
            "how": self.how.to_json(),
            "code": job.code,
        }
        with contextlib.suppress(BrokenPipeError):  # it died at once; its exit status says why
            assert process.stdin is not None
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
        threading.Thread(target=self._watch, args=(process,), daemon=True).start()

    def running(self) -> list[Job]:
        return [started.job for started in self._started.values()]

    def wait(self, seconds: float) -> list[Outcome]:
        try:
            started = self._started.pop(self._ended.get(timeout=seconds))
        except queue.Empty:
            return []
        self._close(started)
        code = started.process.returncode
        status = STATUS.get(code, "failed")
        reason = "" if status == "done" else last_line(self.folder.log(started.job))
        if code == -signal.SIGINT:  # before the run could handle it
            status = "interrupted"
        elif code < 0:
            reason = f"killed by {signal.Signals(-code).name}"
            reason += " (out of memory?)" if code == -signal.SIGKILL else ""
        return [Outcome(started.job, status, reason, time.monotonic() - started.begin)]

    def interrupt(self) -> None:
        for started in self._started.values():
            if started.process.poll() is None:
                started.process.send_signal(signal.SIGINT)

    def _watch(self, process: subprocess.Popen[str]) -> None:
        process.wait()
        self._ended.put(process.pid)

    def _close(self, started: _Started) -> None:
        assert started.process.stdin is not None
        with contextlib.suppress(OSError):
            started.process.stdin.close()


def last_line(path: Path) -> str:
    """Return the last line of a log that is not empty."""
    lines = path.read_text(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def threads_each(workers: int) -> int:
    """Return the threads of each worker: an equal share of the cores, OMP_NUM_THREADS at most."""
    share, most = max(1, cores() // workers), os.environ.get(THREAD_VARIABLES[0], "")
    return min(share, int(most)) if most.isdigit() and int(most) > 0 else share


def usual_workers() -> int:
    """Return the default number of workers: one per core, fewer if memory is short."""
    return max(1, int(min(cores(), memory_bytes() // BYTES_PER_WORKER)))
