"""How a live learner is doing: for `scale status`, the page and programs."""

from __future__ import annotations

import json
import os
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from scale._errors import InputError, UnwritableError
from scale._files import write_atomic
from scale._locks import LockedError, hold
from scale.live.budget import resident_bytes
from scale.live.config import read_watch
from scale.live.store import STORE, Store
from scale.runs.run_folder import parse_json

if TYPE_CHECKING:
    from scale.live.watcher import Watcher

STATUS = "status.json"
WINDOW = 60.0  # seconds that rates are measured over
DROPPED = ("dropped", "disk full")


class Rates:
    """Images per second over the last minute."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self._counts: deque[tuple[float, int, int]] = deque([(self.began, 0, 0)])

    def measure(self, came: int, learned: int) -> tuple[float, float]:
        """Return the rates at which images come and are learned, given the counts until now."""
        now = time.monotonic()
        while len(self._counts) > 1 and now - self._counts[1][0] > WINDOW:
            self._counts.popleft()
        before, came_before, learned_before = self._counts[0]
        if now - self._counts[-1][0] >= 1:
            self._counts.append((now, came, learned))
        passed = max(now - before, 1e-9)
        return (came - came_before) / passed, (learned - learned_before) / passed


def describe(watcher: Watcher) -> dict[str, Any]:
    """Return the status of a running watcher."""
    config, learning, backlog = watcher.config, watcher.learning, watcher.backlog
    came = watcher.intakes.came
    in_rate, learned_rate = watcher.rates.measure(came, watcher.learned)
    found: dict[str, Any] = {
        "state": watcher.state,
        "pid": os.getpid(),
        "time": time.time(),
        "uptime": time.monotonic() - watcher.rates.began,
        "problem": watcher.room.problem,
        "images_per_second": {"in": in_rate, "learned": learned_rate},
        "queue": {"waiting": backlog.waiting, "room": backlog.room},
        "updates": {"now": backlog.updates(config.steps), "usual": config.steps},
        "step": watcher.learner.step_,
        "checkpoint": learning.saved,
        "loss": learning.facts.get("loss"),
        "effective_rank": learning.rank.get("effective_rank"),
        "collapsed": learning.rank.get("collapsed"),
        "guard": watcher.guard,
        "memory_bytes": resident_bytes(),
        "method": config.method,
        "image_size": config.image_size,
        **stored(watcher.store),
    }
    for observer in watcher.observers:
        found |= observer.status()
    return found


def stored(store: Store) -> dict[str, Any]:
    """Return what the store knows: sources, counts, reasons of the gate."""
    sources = [
        {"uri": row[0], "kind": row[1], "state": row[2], "message": row[3], "changed": row[4]}
        for row in store.query("SELECT uri, kind, state, message, changed FROM sources ORDER BY id")
    ]
    skips = {
        row[0]: row[1]
        for row in store.query("SELECT reason, SUM(count) FROM skips GROUP BY 1 ORDER BY 2 DESC")
    }
    last = store.query("SELECT id, taken FROM images ORDER BY id DESC LIMIT 1")
    return {
        "sources": sources,
        "images": last[0][0] if last else 0,
        "last_image": {"id": last[0][0], "taken": last[0][1]} if last else None,
        "skipped": {reason: count for reason, count in skips.items() if reason not in DROPPED},
        "dropped": sum(skips.get(reason, 0) for reason in DROPPED),
        "disk_bytes": store.disk_bytes(),
    }


def write_status(folder: Path, status: dict[str, Any]) -> None:
    """Write the status for other processes; a full disk does not matter."""
    try:
        write_atomic(folder / STATUS, json.dumps(status, default=str) + "\n")
    except UnwritableError:
        return


def read_status(folder: Path) -> dict[str, Any]:
    """Return the status of a live learner, running or not.

    A running one writes its status every few seconds. If its process was killed, `state` says so.
    """
    if not (folder / STORE).is_file():
        read_watch(folder)  # raises what to do
        raise InputError(f"the live learner in {folder} has not started yet; try again")
    found = _written(folder / STATUS)
    running = is_running(folder)
    state = found.get("state", "starting") if running else "stopped"
    if not running and found.get("state") not in ("stopped", None):
        state = "killed"
    with Store(folder) as store:
        return {**found, **stored(store), "state": state}


class _Rates(msgspec.Struct):
    learned: float
    came: float = msgspec.field(name="in")


class _Queue(msgspec.Struct):
    waiting: int
    room: int


class _Updates(msgspec.Struct):
    now: int
    usual: int


class _Better(msgspec.Struct):
    better: bool


class _Alert(msgspec.Struct):
    receiver: str
    sent: int
    failed: int
    error: str | None


class _Status(msgspec.Struct):
    """What is used of the status file; other entries pass."""

    state: str
    images_per_second: _Rates
    queue: _Queue
    updates: _Updates
    step: int
    checkpoint: int
    memory_bytes: Annotated[int, msgspec.Meta(ge=0)]
    problem: str | None = None
    loss: float | None = None
    effective_rank: float | None = None
    drift: float | None = None
    guard: _Better | None = None
    events: dict[str, int] = {}
    alerts: list[_Alert] = []


def _written(path: Path) -> dict[str, Any]:
    """Return what the learner wrote, or what is wrong with it."""
    try:
        found = parse_json(path.read_bytes())
        msgspec.convert(found, _Status)
    except FileNotFoundError:  # it has not been written yet
        return {}
    except (OSError, ValueError):
        return {"problem": f"{path.name} is damaged; a running learner writes it again"}
    return found


def is_running(folder: Path) -> bool:
    """Return whether a process has the live learner in `folder` open."""
    try:
        with hold(folder / ".lock"):
            return False
    except LockedError:
        return True
    except OSError:  # a folder that cannot be written
        return False
