"""A bench on a real Ray cluster."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scale._errors import ScaleError
from scale.bench import BenchFolder, HowToRun, drive, load_experiment, plan
from scale.bench.display import BenchDisplay
from scale.bench.on_ray import OnRay, import_ray


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "ray":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ScaleError, match=r"scale-lifelong\[ray\]"):
        import_ray()


class KillWhenBusy(BenchDisplay):
    """Kills a node of the cluster when a run has ended and every node is at another."""

    def __init__(self, kill: Callable[[], None]) -> None:
        super().__init__()
        self.kill = kill
        self.done_before_kill = 0

    def tick(self, waiting: int, workers: int) -> None:
        super().tick(waiting, workers)
        if self.done >= 1 and not self.done_before_kill and _all_nodes_work():
            self.done_before_kill = self.done
            self.kill()


def _all_nodes_work() -> bool:
    import ray

    free = ray.available_resources().get("CPU", 0)
    return ray.cluster_resources().get("CPU", 0) == 2 and free == 0


@pytest.mark.slow
def test_when_a_node_dies_every_job_still_ends_and_none_twice(
    cluster: Any, tiny: Path, unbroken: Path, tmp_path: Path
) -> None:
    jobs = plan(load_experiment(str(tiny)), {"seed": [0, 1, 2]})
    folder = BenchFolder(tmp_path / "bench")
    display = KillWhenBusy(lambda: cluster.remove_node(cluster.lost, allow_graceful=False))
    engine = OnRay(folder, HowToRun(checkpoint_seconds=0.0), cluster.address)
    result = drive(jobs, folder, engine, display)
    assert 1 <= display.done_before_kill < len(jobs)
    assert (result.done, result.failed) == (len(jobs), [])
    lines = [json.loads(line) for line in folder.records_path.read_text().splitlines()]
    assert sorted(line["job"] for line in lines) == sorted(job.hash for job in jobs)
    alone = [json.loads(line) for line in (unbroken / "records.jsonl").read_text().splitlines()]
    for record in alone:  # as in one process, up to the time it took
        (same,) = [line for line in lines if line["job"] == record["job"]]
        assert same["summary"]["knn"] == record["summary"]["knn"]
    for job in jobs:
        names = {path.name for path in folder.run_folder(job).iterdir()}
        assert {"config.json", "summary.json", "metrics.jsonl", "log.txt", "embeddings"} <= names
