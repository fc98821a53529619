"""Embed the parts of an archive as tasks on a Ray cluster.

Plain tasks rather than Ray Data, which needs pandas: parts are listed, numbered and kept here
already, and Ray starts a task again on another node when its node dies.
"""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

from scale._errors import InputError, ScaleError
from scale.data.archive import Archive
from scale.data.decode import Skipped
from scale.methods import Learner, load
from scale.runs.embed_learner import Embedder
from scale.runs.embed_parts import PART, Part
from scale.runs.embed_work import Read, embedded_chunks, joined
from scale.runs.ray_cluster import connected

RETRIES = 5  # restarts of a task after its node or process died
AHEAD = 2  # tasks in the queue beyond what the cluster can run, so that no node waits
_LOADED: dict[str, Learner] = {}  # the learner of this worker process


def embed_on_ray(
    embedder: Embedder,
    archive: Archive,
    missing: list[int],
    read: Read,
    address: str,
    tasks: int | None,
    step: Callable[[Part, int], None],
) -> Generator[tuple[int, Part]]:
    """Yield the missing parts in the order in which the nodes finish them.

    The nodes read image and parquet files by their paths. The pixels of arrays are sent to them.

    Parameters
    ----------
    embedder, archive, missing, read, step
        As for `embedded_parts`; `read` is used here, too, on what a node cannot read.
    address
        Address of the cluster.
    tasks
        Most tasks at once; by default as many as the cluster has CPUs.
    """
    if not missing:
        return
    with connected(address) as ray:
        content = ray.put(embedder.content())
        task = ray.remote(num_cpus=1, max_retries=RETRIES)(_embed_on_node)
        waiting, running = list(reversed(missing)), dict[Any, int]()
        while waiting or running:
            room = (tasks or int(ray.cluster_resources().get("CPU", 1)) + AHEAD) - len(running)
            for _ in range(min(max(room, 0), len(waiting))):
                number = waiting.pop()
                part = archive.part(number * PART, min((number + 1) * PART, archive.total))
                sent = task.remote(content, embedder.digest, embedder.method, part, read)
                running[sent] = number
            ready, _ = ray.wait(list(running), num_returns=1, timeout=10.0)
            for one in ready:
                number = running.pop(one)
                done = _result(ray, one, number)
                _check_reach(archive, done, read)
                step(done, min(PART, archive.total - number * PART))
                yield number, done


def _embed_on_node(
    content: bytes, digest: str, method: str | None, archive: Archive, read: Read
) -> Part | str:
    """Embed all images of `archive`; return the text of an error that a user can cause."""
    import torch

    torch.set_num_threads(1)
    try:
        learner = _learner(content, digest, method)
        chunks = embedded_chunks(learner, archive, 0, archive.total, read, 1)
        return joined(list(chunks))
    except ScaleError as error:
        return f"on node {platform.node()}: {error}"


def _learner(content: bytes, digest: str, method: str | None) -> Learner:
    if digest not in _LOADED:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "learner.safetensors"
            file.write_bytes(content)
            _LOADED.clear()
            _LOADED[digest] = load(file, method=method)
    return _LOADED[digest]


def _result(ray: Any, task: Any, number: int) -> Part:
    try:
        done: Part | str = ray.get(task)
    except ray.exceptions.RayError as error:
        reason = f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
        raise ScaleError(f"a task failed on the Ray cluster ({reason}); run it again") from error
    if isinstance(done, str):
        raise InputError(done)
    skipped = [replace(one, index=one.index + number * PART) for one in done.skipped]
    return Part(done.z, skipped)


def _check_reach(archive: Archive, done: Part, read: Read) -> None:
    """Refuse to skip an image that this machine can read and a node cannot."""
    for one in done.skipped:
        (piece,) = archive.pieces(one.index, one.index + 1, 1)
        if not read(piece)[1]:
            raise _unreachable(one)


def _unreachable(one: Skipped) -> InputError:
    return InputError(
        f"a node of the Ray cluster cannot read {one.name} ({one.reason}), but this machine can; "
        "put the images on a disk that all nodes have under the same path"
    )
