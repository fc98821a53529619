"""a live learner while 100 clients do not read and two pages follow it."""

from __future__ import annotations

import http.client
import multiprocessing
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from multiprocessing.synchronize import Event
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks._measure import Row, row
from scale.data import load_dataset
from scale.live import Knowledge, WatchConfig, Watcher
from scale.live.service import Server, make_app

SLOW, PAGES = 100, 2
BATCH = 64


def main(quick: bool = False) -> list[Row]:
    """Compare batches with and without clients, and measure the CPU time that clients cost."""
    images = load_dataset("digits").images[: 16 if quick else BATCH]
    turns, batches, seconds = (1, 1, 0.5) if quick else (5, 8, 20.0)
    params = {"encoder": "cnn", "steps_per_batch": 2}
    config = WatchConfig(
        batch_size=len(images), image_size=32, duplicates=0, queue=10**6, params=params
    )
    with tempfile.TemporaryDirectory() as folder, Watcher(Path(folder), config=config) as watcher:
        knowledge = Knowledge(watcher.store, watcher.learner)
        app = make_app(watcher, knowledge, watcher.store)
        with Server(app, "127.0.0.1", 0) as server:
            rows = [_batches(watcher, server.port, images, turns, batches)]
            return [*rows, _share(server.port, seconds)]


def _batches(
    watcher: Watcher, port: int, images: npt.NDArray[np.uint8], turns: int, batches: int
) -> Row:
    """Return a row for the time of a batch; the two kinds take turns."""

    def learn() -> float:
        start = time.perf_counter()
        for _ in range(batches):
            watcher.feed(images)
        watcher.flush()
        return (time.perf_counter() - start) / batches

    learn()
    alone, watched = list[float](), list[float]()
    for _ in range(turns):
        alone.append(learn())
        watched.append(_with_clients(port, learn))
    limit = ("without clients, median", float(np.median(alone)) * 1e3)
    return row(f"a batch of {len(images)}, median", float(np.median(watched)) * 1e3, limit=limit)


def _share(port: int, seconds: float) -> Row:
    """Return a row for the CPU time of the process while it only serves clients."""

    def wait() -> float:
        wall, cpu = time.perf_counter(), time.process_time()
        time.sleep(seconds)
        return (time.process_time() - cpu) / (time.perf_counter() - wall)

    cost = _with_clients(port, wait) * 1e3
    return row("CPU time per second, nothing to learn", cost, limit=("a tenth of a core", 100.0))


def _with_clients(port: int, work: Callable[[], float]) -> float:
    """Return what `work` returns while clients listen."""
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    clients = context.Process(target=_clients, args=(port, ready, done))
    clients.start()
    ready.wait()
    found = work()
    done.set()
    clients.join()
    return found


def _clients(port: int, ready: Event, done: Event) -> None:
    """Listen with clients that never read, and follow with pages that do."""
    slow = [_listen(port) for _ in range(SLOW)]
    pages = [threading.Thread(target=_follow, args=(port, done)) for _ in range(PAGES)]
    for page in pages:
        page.start()
    ready.set()
    done.wait()
    for page in pages:
        page.join()
    for client in slow:
        client.close()


def _listen(port: int) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(b"GET /updates HTTP/1.1\r\nhost: localhost\r\n\r\n")
    return client


def _follow(port: int, done: Event) -> None:
    """Ask what the screen Now asks for, as often as it does."""
    with _listen(port) as updates:
        updates.settimeout(2)
        while not done.is_set():
            for path in ("/images?limit=24", "/history?points=400", "/status"):
                connection = http.client.HTTPConnection("127.0.0.1", port)
                connection.request("GET", path)
                connection.getresponse().read()
                connection.close()
            try:
                updates.recv(65536)
            except TimeoutError:
                continue
            done.wait(2)
