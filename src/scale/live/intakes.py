"""The intakes of a live learner: one for each source, and for each program that feeds it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from scale.live.backlog import Backlog
from scale.live.config import WatchConfig
from scale.live.gate import Gate
from scale.live.intake import Intake
from scale.live.reader import Reader
from scale.live.room import Room
from scale.live.store import Store

PROGRAM, LIVE_PROGRAM = "program", "live program"
LIVE_KINDS = ("stream", "camera", LIVE_PROGRAM)


class Intakes:
    """Opens intakes and keeps them by the name of their source. Any thread may use it.

    Parameters
    ----------
    store
        Where images go.
    config
        Options of the live learner.
    room
        Says whether the disk has room.
    stopping
        Returns whether to stop.

    Attributes
    ----------
    backlog
        Counts the images that wait, also those of an earlier time.
    """

    def __init__(
        self, store: Store, config: WatchConfig, room: Room, stopping: Callable[[], bool]
    ) -> None:
        self._store, self._config, self._room, self._stopping = store, config, room, stopping
        live = store.waiting_of(LIVE_KINDS)
        self.backlog = Backlog(config.room, config.batch_size, len(store.waiting()), live)
        self._by_name: dict[str, Intake] = {}
        self._lock = threading.Lock()

    def __getitem__(self, name: str) -> Intake:
        """Return the intake of a source by its name."""
        return self._by_name[name]

    @property
    def came(self) -> int:
        """Number of images that came since the start."""
        return sum(intake.came for intake in list(self._by_name.values()))

    def of_reader(self, reader: Reader) -> Intake:
        """Return a new intake for a source."""
        gate = Gate(self._config, reader.every)
        made = self._open(reader.name, reader.kind, gate, reader.live)
        self._by_name[reader.name] = made
        return made

    def of_program(self, name: str, *, live: bool) -> Intake:
        """Return the intake of a program that feeds images under this name."""
        with self._lock:
            if name not in self._by_name:
                kind = LIVE_PROGRAM if live else PROGRAM
                self._by_name[name] = self._open(name, kind, Gate(self._config), live)
                self._by_name[name].set_state("ok", "")
            return self._by_name[name]

    def _open(self, uri: str, kind: str, gate: Gate, live: bool) -> Intake:
        assert self._config.image_size is not None
        return Intake(
            *(self._store, uri, kind),
            live=live,
            gate=gate,
            backlog=self.backlog,
            image_size=self._config.image_size,
            room=self._room,
            stopping=self._stopping,
        )
