"""From a source through the gate into the store, in transactions that say where to go on."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scale._errors import UnwritableError
from scale.data.pixels import BadImageError
from scale.live.backlog import Backlog
from scale.live.gate import SKIPPED_EVERY, Gate
from scale.live.kept import reading, table_in
from scale.live.pictures import Frame, Picture, make_picture
from scale.live.room import Room
from scale.live.store import Store

IMAGES_AT_ONCE, ITEMS_AT_ONCE = 32, 256  # in one transaction
SECONDS_AT_ONCE = 0.5
UNREADABLE, DROPPED, NO_ROOM = "unreadable", "dropped", "disk full"
TAKEN = "taken"


@dataclass(frozen=True)
class Item:
    """The next frame of a source.

    Parameters
    ----------
    taken
        When it was taken, in unix seconds.
    load
        Decodes it; raises `BadImageError` if that fails.
    path
        Its file, or None.
    stamp
        What identifies the content of a folder's file; None for everything else.
    position
        Where to go on after it.
    """

    taken: float
    load: Callable[[], Frame]
    path: str | None = None
    stamp: str | None = None
    position: dict[str, Any] | None = None


@dataclass
class _Pending:
    """What the next transaction writes."""

    images: list[tuple[Picture, float, str | None, int]] = field(default_factory=list)
    files: list[tuple[str, str, str]] = field(default_factory=list)
    skips: Counter[tuple[str, int]] = field(default_factory=Counter)
    items: int = 0


class Intake:
    """Takes the frames of one source.

    Parameters
    ----------
    store
        Where images go.
    uri, kind
        The source.
    live
        Whether it cannot wait; then images are dropped when too many wait.
    gate
        Decides what is taken; its state is restored from the store.
    backlog
        Counts the images that wait.
    image_size
        Side of the learner's images.
    room
        Says whether the disk has room.
    stopping
        Returns whether to stop.
    """

    def __init__(
        self,
        store: Store,
        uri: str,
        kind: str,
        *,
        live: bool,
        gate: Gate,
        backlog: Backlog,
        image_size: int,
        room: Room,
        stopping: Callable[[], bool],
    ) -> None:
        self.store, self.uri, self.live = store, uri, live
        self.gate, self.backlog, self.room = gate, backlog, room
        self.image_size, self.stopping = image_size, stopping
        self.lock = threading.RLock()
        self.number = store.source(uri, kind)
        row = store.query("SELECT position, gate FROM sources WHERE id = ?", self.number)[0]
        with reading(store.path, f"the position in {uri}"):
            self.position: dict[str, Any] = table_in(row["position"] or "{}")
            if row["gate"] is not None:
                gate.load(row["gate"])
        self.came = 0
        self.collected: list[int] | None = None  # numbers of images, for those who ask
        self._pending, self._flushed = _Pending(), time.monotonic()
        self._credit = 1.0  # of images to take, when only a share of them is

    def put(self, item: Item) -> bool:
        """Take a frame, or skip it and count why; return False if stopped before that."""
        if not self.live and not self.backlog.wait_for_room(self.stopping):
            return False
        with self.lock:
            said, pictures = self._judge(item)
            pending = self._pending
            pending.items += 1
            looked = self.gate.looked
            pending.images += [(picture, item.taken, item.path, looked) for picture in pictures]
            if said != TAKEN:
                self.count(said.split(":")[0], item.taken)
            if item.stamp is not None and item.path is not None:
                pending.files.append((item.path, item.stamp, said))
            if item.position is not None:
                self.position = item.position
            full = len(pending.images) >= IMAGES_AT_ONCE or pending.items >= ITEMS_AT_ONCE
            if full or time.monotonic() - self._flushed >= SECONDS_AT_ONCE:
                self.flush()
        return not self.stopping()

    def note_file(self, path: str, stamp: str, said: str) -> None:
        """Note a file that is no image to take."""
        with self.lock:
            self._pending.files.append((path, stamp, said))
            self._pending.items += 1

    def count(self, reason: str, taken: float) -> None:
        """Count a frame that was skipped."""
        with self.lock:
            self._pending.skips[reason, int(taken // 3600)] += 1

    def move_to(self, position: dict[str, Any]) -> None:
        """Write what is pending, and where to go on."""
        with self.lock:
            self.position = position
            self._pending.items += 1
            self.flush()

    def flush(self) -> None:
        """Write what is pending, in one transaction.

        While the disk is full a source that can wait does; of a live one nothing more is taken.
        """
        with self.lock:
            while self._pending.items or self._pending.skips:
                try:
                    self._write()
                except UnwritableError as error:
                    self.room.tell_full(str(error))
                    if self.live or not self.room.wait(self.stopping):
                        return

    def set_state(self, state: str, message: str | None) -> None:
        """Note how the source is, for the user; None keeps the last message."""
        try:
            with self.store.transaction() as db:
                db.execute(
                    "UPDATE sources SET state = ?, message = COALESCE(?, message), changed = ? "
                    "WHERE id = ?",
                    (state, message, time.time(), self.number),
                )
        except UnwritableError as error:
            self.room.tell_full(str(error))

    def _judge(self, item: Item) -> tuple[str, list[Picture]]:
        """Return what the gate said and the images to take."""
        if not self.gate.is_due(item.taken):
            return SKIPPED_EVERY, []
        try:
            frame = item.load()
            verdict = self.gate.look(frame)
            if verdict.reason is not None:
                return verdict.reason, []
            if self.live and (why := self._lack()) is not None:
                return why, []
            return TAKEN, [make_picture(frame, self.image_size, box) for box in verdict.boxes]
        except BadImageError as error:
            return f"{UNREADABLE}: {error}", []

    def _lack(self) -> str | None:
        """Return why an image of a live source cannot be taken, or None."""
        if self.room.is_full and len(self._pending.images) >= IMAGES_AT_ONCE:
            return NO_ROOM
        # Evenly in time: each image adds its share, and every whole one is taken.
        self._credit = min(self._credit + self.backlog.share(), 2.0)
        if self._credit < 1:
            return DROPPED
        self._credit -= 1
        return None

    def _write(self) -> None:
        pending = self._pending
        self.room.check(sum(len(p.pixels) + len(p.thumbnail) for p, *_ in pending.images))
        with self.store.transaction() as db:
            numbers = [
                self.store.add_image(self.number, picture, taken=taken, path=path, looked=looked)
                for picture, taken, path, looked in pending.images
            ]
            db.executemany(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)",
                [(self.number, *file) for file in pending.files],
            )
            db.executemany(
                "INSERT INTO skips VALUES (?, ?, ?, ?) "
                "ON CONFLICT DO UPDATE SET count = count + excluded.count",
                [(self.number, *key, count) for key, count in pending.skips.items()],
            )
            db.execute(
                "UPDATE sources SET position = ?, gate = ? WHERE id = ?",
                (json.dumps(self.position), self.gate.state(), self.number),
            )
        self._pending, self._flushed = _Pending(), time.monotonic()
        self.room.tell_free()
        self.came += len(numbers)
        if self.collected is not None:
            self.collected += numbers
        self.backlog.added(numbers, live=self.live)
