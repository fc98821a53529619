"""Learn from the store, batch by batch: each image once, whatever happens in between."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from scale._errors import DamagedFileError, NonFiniteLossError
from scale.evaluate import collapsed, effective_rank
from scale.live.observer import Observer
from scale.live.room import Room
from scale.live.store import Store
from scale.methods import Learner
from scale.methods.core.loading import put_state
from scale.runs.checkpoint import Checkpoints, Meta, State
from scale.runs.metrics import plain
from scale.runs.watched import load_watched

RANK_EVERY = 8  # batches; the rank costs as much as an update of a small encoder


class Learning:
    """A learner that learns the batches of a journal, in order.

    A batch is written to the journal before it is learned, and a checkpoint knows how many
    batches its learner has learned. After a kill, the batches since the checkpoint are learned
    again from the store, with as many updates as before: the learner is then the same, bit for
    bit.

    Parameters
    ----------
    store
        The store with the images and the journal.
    learner
        The started learner; its state is that of the newest checkpoint afterwards.
    observers
        Called before and after each batch.
    room
        Waits while the disk is full.
    tell
        Called with messages for the user.
    stopping
        Returns whether to stop.
    """

    def __init__(
        self,
        store: Store,
        learner: Learner,
        observers: Sequence[Observer],
        room: Room,
        tell: Callable[[str], None],
        stopping: Callable[[], bool],
    ) -> None:
        self.store, self.learner, self.observers = store, learner, observers
        self.room, self.tell, self.stopping = room, tell, stopping
        self.checkpoints = Checkpoints(store.folder / "checkpoints")
        self.saved = 0  # batches in the newest checkpoint
        self.kept = 0  # batches in the oldest checkpoint that is kept
        self.facts: dict[str, Any] = {}  # of the last batch
        self.rank: dict[str, Any] = {}  # when it was last measured
        self.whole = True  # the observers have seen all that the learner has
        self._restore()

    def left(self) -> list[tuple[int, int]]:
        """Return the journal's batches that the learner has yet to learn, with their updates."""
        sql = "SELECT id, steps FROM batches WHERE id > ? ORDER BY id"
        return [(row[0], row[1]) for row in self.store.query(sql, self.learner.step_)]

    def learn_next(self, numbers: Sequence[int], steps: int) -> None:
        """Write the next batch to the journal and learn it."""
        batch = self.room.keep_trying(lambda: self.store.journal(numbers, steps), self.stopping)
        self.learn(batch, steps)

    def learn(self, batch: int, steps: int) -> None:
        """Learn a batch of the journal with this number of updates."""
        learner, numbers = self.learner, self.store.batch_images(batch)
        if batch != learner.step_ + 1:
            raise DamagedFileError(
                f"the journal in {self.store.path} has no batch {learner.step_ + 1}; put back a "
                "copy of the whole folder"
            )
        images = self.store.pixels(numbers)
        for one in self.observers:
            self._keep_trying(one.before_batch, learner.step_, numbers, images, learner)
        self.whole = False
        with updates(learner, steps):
            self._fit(images)
        for one in self.observers:
            self._keep_trying(one.after_batch, learner.step_, numbers, images, learner)
        self.facts = self._describe()
        self._keep_trying(self._note, batch)
        self.whole = True

    def save(self) -> None:
        """Write a checkpoint; raises `UnwritableError`."""
        step = self.learner.step_
        if step == self.saved or not self.whole:
            return
        meta = {"learner": self.learner.describe(), "cursor": step, "metrics_bytes": 0}
        path = self.checkpoints.write(step, self.learner.state_dict(), meta)
        self.room.needs(path.stat().st_size)
        self.saved, self.kept = step, _oldest(self.checkpoints)

    def _fit(self, images: Any) -> None:
        try:
            self.learner.partial_fit(images)
        except NonFiniteLossError as error:
            good = self.checkpoints.paths()
            where = f"the last good checkpoint is {good[-1]}" if good else "there is no checkpoint"
            raise NonFiniteLossError(f"{error}; {where}") from error

    def _describe(self) -> dict[str, Any]:
        learner = self.learner
        facts = {name: plain(value) for name, value in learner.diagnostics_.items()}
        if learner.features_ is not None and learner.step_ % RANK_EVERY == 1:
            features = learner.features_
            rank = {"effective_rank": effective_rank(features), "collapsed": collapsed(features)}
            self.rank = rank
            facts |= rank
        return facts

    def _note(self, batch: int) -> None:
        with self.store.transaction() as db:
            db.execute(
                "UPDATE batches SET learned = ?, facts = ? WHERE id = ?",
                (time.time(), json.dumps(self.facts), batch),
            )

    def _keep_trying(self, write: Callable[..., None], *args: Any) -> None:
        self.room.keep_trying(lambda: write(*args), self.stopping)

    def _restore(self) -> None:
        """Take the newest checkpoint that fits the journal."""
        last = self.store.query("SELECT COALESCE(MAX(id), 0) FROM batches")[0][0]

        def use(state: State, meta: Meta) -> int:
            origin = f"the checkpoint after batch {meta['cursor']} in {self.checkpoints.folder}"
            if meta["cursor"] > last:
                raise DamagedFileError(f"{origin} is beyond the end of the journal")
            put_state(self.learner, state, origin)
            return int(meta["cursor"])

        found = self.checkpoints.read(self.tell, use)
        if found is not None:
            self.saved, self.kept = found, _oldest(self.checkpoints)
            self.room.needs(self.checkpoints.paths()[-1].stat().st_size)


@contextlib.contextmanager
def updates(learner: Learner, steps: int) -> Iterator[None]:
    """Within the block, the learner makes this number of updates per batch, if any."""
    if not hasattr(learner, "steps_per_batch"):
        yield
        return
    with learner._changing():  # readers in other threads see the usual number
        usual = learner.steps_per_batch
        learner.steps_per_batch = steps
        try:
            yield
        finally:
            learner.steps_per_batch = usual


def load_learner(folder: Path, tell: Callable[[str], None]) -> Learner:
    """Return the newest saved learner of a live learner's folder, to read only.

    Parameters
    ----------
    folder
        Folder of the live learner; a watcher may be running in it.
    tell
        Called with a message for each damaged checkpoint.
    """
    from scale.live.config import read_watch

    return load_watched(folder, read_watch(folder)[0].method, tell)


def _oldest(checkpoints: Checkpoints) -> int:
    return int(checkpoints.paths()[0].name.split(".")[0])
