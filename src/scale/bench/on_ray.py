"""Jobs as Ray tasks on a cluster. Its nodes need no shared disk."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from scale._files import write_atomic
from scale.bench.engine import Outcome
from scale.bench.folder import BenchFolder, JobBusyError, claim, is_free, tidy
from scale.bench.job import Job
from scale.bench.work import HowToRun, work
from scale.runs import RunConfig
from scale.runs.ray_cluster import connect, import_ray

RETRIES = 5  # restarts of a job after its node or process died
AHEAD = 2  # tasks in the queue beyond what the cluster can run, so that no node waits


@dataclass
class _Sent:
    job: Job
    begin: float
    held: contextlib.ExitStack


class OnRay:
    """One task for each job; Ray starts it again on another node when its node dies.

    Parameters
    ----------
    folder
        Folder that collects the small files of the runs.
    how
        Options of every run.
    address
        Address of the cluster. ``auto`` uses this machine's, ``local`` starts one here.
    cpus, gpus
        Resources that a task reserves. With a fraction of a GPU, several tasks share it.
    """

    def __init__(
        self,
        folder: BenchFolder,
        how: HowToRun,
        address: str = "auto",
        cpus: int = 1,
        gpus: float = 0.0,
    ) -> None:
        self.ray = import_ray()
        self.folder = folder
        self.how = how
        self.address = address
        self.cpus, self.gpus = cpus, gpus
        self._sent: dict[Any, _Sent] = {}
        self._refused: list[Job] = []

    def __enter__(self) -> Self:
        connect(self.ray, self.address)
        self._task = self.ray.remote(
            num_cpus=self.cpus, num_gpus=self.gpus, max_retries=RETRIES, max_calls=1
        )(run_on_node)
        here = f"{platform.node()}:{self.folder.path.resolve()}"
        self._bench = hashlib.sha256(here.encode()).hexdigest()[:16]
        return self

    def __exit__(self, *error: object) -> None:
        for sent in self._sent.values():
            sent.held.close()
        self.ray.shutdown()

    @property
    def workers(self) -> int:
        """Number of tasks that the living nodes can run at once."""
        alive = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        return sum(_fit(node, "CPU", self.cpus, _fit(node, "GPU", self.gpus)) for node in alive)

    def room(self) -> int:
        return self.workers + AHEAD - len(self._sent) - len(self._refused)

    def start(self, job: Job) -> None:
        held = contextlib.ExitStack()
        try:
            held.enter_context(claim(self.folder.run_folder(job)))
        except JobBusyError:
            self._refused.append(job)
            return
        task = self._task.options(name=job.name).remote(
            job.config.to_json(),
            f"{self._bench}-{job.hash}",
            self.how.to_json(),
            self.cpus,
            job.code,
        )
        self._sent[task] = _Sent(job, time.monotonic(), held)

    def running(self) -> list[Job]:
        return [*self._refused, *(sent.job for sent in self._sent.values())]

    def wait(self, seconds: float) -> list[Outcome]:
        refused, self._refused = self._refused, []
        outcomes = [Outcome(job, "busy") for job in refused]
        if not self._sent:
            time.sleep(0.0 if refused else seconds)
            return outcomes
        ready, _ = self.ray.wait(list(self._sent), num_returns=1, timeout=seconds)
        for task in ready:
            sent = self._sent.pop(task)
            with sent.held:
                outcomes.append(self._collect(task, sent))
        return outcomes

    def interrupt(self) -> None:
        for task in self._sent:
            self.ray.cancel(task, recursive=False)

    def _collect(self, task: Any, sent: _Sent) -> Outcome:
        """Copy a run's files here, the summary last: it marks the run as finished."""
        seconds = time.monotonic() - sent.begin
        try:
            status, reason, contents = self.ray.get(task)
        except self.ray.exceptions.TaskCancelledError:
            return Outcome(sent.job, "interrupted", "stopped", seconds)
        except self.ray.exceptions.RayError as error:
            reason = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
            return Outcome(sent.job, "failed", reason, seconds)
        target = self.folder.run_folder(sent.job)
        for name in sorted(contents, key=lambda name: name == "summary.json"):
            write_atomic(target / name, contents[name])
        if status == "done":
            tidy(target, keep_learner=self.how.keep_learner)  # files of an earlier start here
        return Outcome(sent.job, status, reason, seconds)


def run_on_node(
    config: dict[str, Any], name: str, how: dict[str, Any], cpus: int, code: str
) -> tuple[str, str, dict[str, bytes]]:
    """Run a job on a node; return its status, a reason, and the run's small files.

    A restarted task resumes from the checkpoint if it is on the same node.
    """
    import torch

    torch.set_num_threads(max(1, cpus))
    with _node_folder(name) as folder:
        status, reason = work(RunConfig(**config), folder, HowToRun(**how), code)
        if status == "interrupted":
            return status, reason, {}
        contents = {path: (folder / path).read_bytes() for path in _small_files(folder)}
        if status == "failed":
            contents = {"log.txt": contents.get("log.txt", b"")}
        shutil.rmtree(folder, ignore_errors=True)
    return status, reason, contents


@contextlib.contextmanager
def _node_folder(name: str) -> Iterator[Path]:
    """Yield the job's folder on this node, or a fresh one if a lost task still holds it."""
    mine = Path(tempfile.gettempdir()) / f"scale-bench-{os.getuid()}"
    mine.mkdir(mode=0o700, exist_ok=True)
    folder = mine / name
    if is_free(folder):
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="scale-bench-") as fresh:
        yield Path(fresh) / name


def _small_files(folder: Path) -> list[str]:
    paths = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    return [str(p) for p in paths if p.parts[0] != "checkpoints" and not p.name.startswith(".")]


def _fit(node: dict[str, float], resource: str, each: float, most: int = 10**6) -> int:
    return min(most, int(node.get(resource, 0) / each)) if each else most
