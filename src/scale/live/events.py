"""Events: what is new and stays for a while opens one; a person may call it normal."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Self

from scale._errors import InputError
from scale._names import check_one_of
from scale.live.kept import reading, table_in
from scale.live.known import DELAY, Known
from scale.live.novelty import Judgement
from scale.live.store import Store

State = Literal["open", "closed", "dismissed"]
STATES: tuple[State, ...] = ("open", "closed", "dismissed")
NEW = "new"
SHOWN = 6  # images of an event that are known at once when it is dismissed


@dataclass(frozen=True)
class Event:
    """Something new that stayed for a while.

    Parameters
    ----------
    id, kind
        Its number, and what it is: "new".
    image
        The image with which it was noticed.
    opened, closed
        When that image was taken, and when nothing was new any more; None while it is open.
    state
        open, closed, or dismissed by a person as normal.
    score, threshold
        How new the image is; it is new above the threshold.
    count
        Images that were new.
    nearest
        The nearest known images and their distances: why it is new.
    images
        The first images that were new.
    """

    id: int
    kind: str
    image: int
    opened: float
    closed: float | None
    state: State
    score: float
    threshold: float
    count: int
    nearest: tuple[tuple[int, float], ...]
    images: tuple[int, ...]

    @classmethod
    def of(cls, row: sqlite3.Row, path: Path) -> Event:
        """Return the event of a row of the table in the store at `path`."""
        values = {name: row[name] for name in row.keys() if name != "why"}  # noqa: SIM118
        with reading(path, f"event {row['id']}"):
            why = table_in(row["why"] or "{}")
            nearest = tuple((int(one), float(far)) for one, far in why.get("nearest", ()))
            images = tuple(map(int, why.get("images", ())))
        return cls(**values, nearest=nearest, images=images)


@dataclass(frozen=True)
class Patience:
    """When something new becomes an event, in frames of one scene.

    Frames are images, and the duplicates of an image that stays in view.

    Parameters
    ----------
    persist
        Frames in a row that have to be new.
    quiet
        Frames in a row that are not new, after which an event ends.
    cool_down
        Frames after the end of an event during which no other begins.
    """

    persist: int = 6
    quiet: int = 16
    cool_down: int = 64


@dataclass
class Tracker:
    """The novelty of one scene so far: what is known, and the event that is going on."""

    known: Known = field(default_factory=Known)
    run: list[int] = field(default_factory=list)  # the last images, if they were new
    new: int = 0  # frames that they were seen in
    still: int = 0  # frames since the last new one
    cool: int = 0  # frames for which no event may begin
    event: int | None = None
    last: Judgement | None = None  # of the last image
    taken: float = 0.0  # when it was
    source: int | None = None  # where it came from
    looked: int | None = None  # frames of that source that are counted here
    stayed: int = 0  # frames that the last image stayed for

    def state(self) -> dict[str, Any]:
        """Return the state for JSON."""
        own = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "known"}
        last = None if self.last is None else asdict(self.last)
        return {**own, "last": last, "known": self.known.state()}

    @classmethod
    def restored(cls, state: dict[str, Any], known: Known) -> Self:
        """Return a tracker from its state."""
        kept = {name: value for name, value in state.items() if name not in ("known", "last")}
        kept.setdefault("new", len(state["run"]))  # older versions had one frame for each image
        last = state.get("last")
        if last is not None:
            nearest = tuple((int(one), float(far)) for one, far in last["nearest"])
            last = Judgement(last["id"], last["score"], nearest)
        return cls(known=known, last=last, **kept)


def advance(
    tracker: Tracker,
    judged: Sequence[Judgement],
    taken: dict[int, float],
    patience: Patience,
    db: sqlite3.Connection,
    stays: Sequence[int],
) -> list[int]:
    """Follow the judgements of a scene; write events and return those that were opened.

    Parameters
    ----------
    tracker
        The scene.
    judged
        Its next images.
    taken
        When they were taken.
    patience
        When an event opens and ends.
    db
        A transaction of the store.
    stays
        For each image, in how many frames the one before it stayed.
    """
    opened = []
    for one, frames in zip(judged, stays, strict=True):
        opened += stay(tracker, frames, taken[one.id], patience, db)
        new = one.score > 1
        tracker.run = [*tracker.run, one.id] if new else []
        tracker.last, tracker.taken, tracker.stayed = one, taken[one.id], 0
        if new and tracker.event is not None:
            db.execute("UPDATE events SET count = count + 1 WHERE id = ?", (tracker.event,))
        opened += _next_frame(tracker, new, taken[one.id], patience, db)
    return opened


def stay(
    tracker: Tracker, frames: int, until: float, patience: Patience, db: sqlite3.Connection
) -> list[int]:
    """Let the last image of a scene stay in view for more frames; it is known after some.

    Returns the events that were opened.
    """
    opened: list[int] = []
    if tracker.last is None:
        return opened
    most = patience.persist + patience.quiet + patience.cool_down + DELAY  # more change nothing
    for at in range(tracker.stayed + 1, tracker.stayed + 1 + min(frames, most)):
        new = tracker.last.score > 1 and at < DELAY
        opened += _next_frame(tracker, new, until, patience, db)
    tracker.stayed += frames
    return opened


def _next_frame(
    tracker: Tracker, new: bool, when: float, patience: Patience, db: sqlite3.Connection
) -> list[int]:
    """Count a frame of the last image, and open or end an event."""
    tracker.new = tracker.new + 1 if new else 0
    tracker.run = tracker.run if new else []
    tracker.still = 0 if new else tracker.still + 1
    tracker.cool = max(tracker.cool - 1, 0)
    if tracker.event is not None:
        if tracker.still >= patience.quiet:
            _close(tracker, when, patience, db)
        return []
    if tracker.new < patience.persist or tracker.cool or tracker.last is None:
        return []
    tracker.event = _open(tracker, tracker.last, tracker.taken, db)
    return [tracker.event]


def _open(tracker: Tracker, one: Judgement, when: float, db: sqlite3.Connection) -> int:
    why = json.dumps({"nearest": one.nearest, "images": tracker.run[-SHOWN:]})
    made = db.execute(
        "INSERT INTO events (kind, image, opened, state, score, threshold, count, why) "
        "VALUES (?, ?, ?, 'open', ?, 1.0, ?, ?)",
        (NEW, one.id, when, round(one.score, 4), len(tracker.run), why),
    )
    return int(made.lastrowid or 0)


def _close(tracker: Tracker, when: float, patience: Patience, db: sqlite3.Connection) -> None:
    db.execute(
        "UPDATE events SET state = 'closed', closed = ? WHERE id = ? AND state = 'open'",
        (when, tracker.event),
    )
    tracker.event, tracker.cool = None, patience.cool_down


class EventLog:
    """The events in a store.

    Parameters
    ----------
    store
        The store.
    """

    def __init__(self, store: Store) -> None:
        self.store = store

    def all(self, state: str | None = None) -> list[Event]:
        """Return events in the order in which they were opened, of one state or all."""
        if state is not None:
            check_one_of("state", state, STATES)
        sql = "SELECT * FROM events WHERE state = ? OR ? IS NULL ORDER BY id"
        return [Event.of(row, self.store.path) for row in self.store.query(sql, state, state)]

    def get(self, number: int) -> Event:
        """Return an event."""
        rows = self.store.query("SELECT * FROM events WHERE id = ?", number)
        if not rows:
            raise InputError(
                f"there is no event {number} in {self.store.folder}; scale events lists them"
            )
        return Event.of(rows[0], self.store.path)

    def dismiss(self, number: int) -> Event:
        """Call what an event shows normal; a watcher, now or later, then knows its images."""
        event = self.get(number)
        with self.store.transaction() as db:
            db.execute(
                "UPDATE events SET state = 'dismissed', closed = COALESCE(closed, (SELECT "
                "MAX(taken) FROM images)) WHERE id = ?",
                (event.id,),
            )
        return self.get(number)
