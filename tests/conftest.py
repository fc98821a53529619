from __future__ import annotations

import gc
import os
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.gate import HELD, Gate
from tests.processes import stop_server


def pytest_configure(config: pytest.Config) -> None:
    """Compute with one thread, here and in the processes that tests start: each core has a test."""
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["SCALE_TRACEBACK"] = "1"  # a bug fails the test that finds it, with its traceback
    if config.getoption("dist", "no") == "no":  # not in the process that only hands out tests
        _prepare()


def _prepare() -> None:
    """Set up the libraries of a process that runs tests."""
    import torch
    from hypothesis import HealthCheck, settings

    torch.set_num_threads(1)
    # How long a call takes on a busy machine is not what is tested. Every run draws other examples.
    settings.register_profile(
        "unhurried", deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow]
    )
    settings.load_profile("unhurried")


def pytest_collection_finish() -> None:
    """Spare the garbage collector what is imported: most of the objects that there are."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the user's cache out of the tests."""
    os.environ["SCALE_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session", autouse=True)
def no_server_left() -> Iterator[None]:
    """Stop the server of processes at the end."""
    yield
    stop_server()


@pytest.fixture
def default_signals() -> Iterator[None]:
    """Let signals act on the test and its children also under nohup and in background jobs."""
    defaults = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    before = {number: signal.signal(number, action) for number, action in defaults.items()}
    yield
    for number, action in before.items():
        signal.signal(number, action)


@pytest.fixture
def limit_files() -> Iterator[Callable[[int], None]]:
    """Return a function that limits the size of the files that this process writes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Return a function that mounts a disk of a given size; the test skips where it cannot."""
    mounted: list[Path] = []

    def mount(size: str) -> Path:
        disk = tmp_path / f"disk-{size}"
        disk.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
        if shutil.which("mount") is None or subprocess.run(command, check=False).returncode:
            pytest.skip("a small disk cannot be mounted here")
        mounted.append(disk)
        return disk

    yield mount
    for disk in mounted:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.fixture(scope="session")
def small_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real digits of three classes, 40 train and 10 test images each, as an .npz file."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    chosen = np.concatenate([np.flatnonzero(labels == c)[:50] for c in range(3)])
    pixels = (images[chosen] * 255 / 16).astype(np.uint8).reshape(-1, 8, 8)
    pixels = pixels.repeat(2, axis=1).repeat(2, axis=2)  # 16 x 16
    test = np.arange(len(chosen)) % 5 == 0
    path = tmp_path_factory.mktemp("data") / "small.npz"
    np.savez(
        path,
        x_train=pixels[~test],
        y_train=labels[chosen][~test],
        x_test=pixels[test],
        y_test=labels[chosen][test],
    )
    return path


@pytest.fixture(scope="session")
def held_methods(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of methods that wait at a gate."""
    path = tmp_path_factory.mktemp("methods") / "held.py"
    path.write_text(HELD)
    return path


@pytest.fixture
def gate(tmp_path_factory: pytest.TempPathFactory) -> Gate:
    """A gate that is closed."""
    return Gate(tmp_path_factory.mktemp("gate") / "gate")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster of two nodes on this machine, one CPU each."""
    pytest.importorskip("ray")
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_worker_niceness", "0")  # else a busy machine starves the workers
    from ray.cluster_utils import Cluster

    store = 80 * 2**20
    head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": store}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    cluster.lost = cluster.add_node(num_cpus=1, object_store_memory=store)
    yield cluster
    cluster.shutdown()
