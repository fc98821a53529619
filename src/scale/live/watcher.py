"""A learner that keeps learning from folders, cameras and programs."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import torch

from scale._errors import InputError, UnwritableError
from scale._files import as_path
from scale._names import check_text
from scale.evaluate import guard
from scale.live.budget import MemoryBudget, Pace, choose_threads
from scale.live.config import (
    WATCH,
    WatchConfig,
    read_watch,
    refuse_other_learner,
    write_watch,
)
from scale.live.crew import Crew
from scale.live.feeding import feed
from scale.live.intakes import PROGRAM, Intakes
from scale.live.learning import Learning
from scale.live.observer import Observer
from scale.live.retention import Retention
from scale.live.room import Room, StoppedError
from scale.live.sources import make_reader
from scale.live.status import Rates, describe, write_status
from scale.live.store import Store
from scale.methods import Learner
from scale.runs.room import at_most_this_machine
from scale.runs.run_folder import LEARNER, only_here, refuse_held

IDLE_SECONDS, STATUS_SECONDS = 0.2, 2.0
SAVE_SECONDS = 10.0  # at least, between two saves while nothing comes
GUARD_FIRST, GUARD_FACTOR = 10, 1.5  # batches; the guard is measured again after half as many more


class Watcher:
    """Takes images from sources and programs into a store, and learns each of them once.

    The folder keeps everything: the same watcher on the same folder goes on, also after a kill.
    Only one process can have it open. `learner` and `store` may be used from any thread.

    Parameters
    ----------
    out
        Folder of the live learner; it is made if it is missing.
    sources
        Folders, video files, addresses of streams, devices of cameras.
    config
        Options. Default: those that the folder keeps.
    observers
        Called before and after each batch and in idle moments. More can be appended to
        `observers` before `run`.
    once
        End after what folders hold.
    tell
        Called with messages for the user, from any thread.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> camera = np.random.default_rng(0).integers(0, 256, (8, 48, 64, 3), dtype=np.uint8)
    >>> config = WatchConfig(method="patches", batch_size=4, image_size=16)
    >>> with Watcher(tempfile.mkdtemp(), config=config) as watcher:
    ...     ids = watcher.feed(camera)
    ...     watcher.flush()
    ...     ids, watcher.learner.step_
    ([1, 2, 3, 4, 5, 6, 7, 8], 2)
    """

    def __init__(
        self,
        out: str | Path,
        sources: Sequence[str] = (),
        *,
        config: WatchConfig | None = None,
        observers: Sequence[Observer] = (),
        once: bool = False,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.out, self.tell = as_path("out", out), tell
        kept = read_watch(self.out) if (self.out / WATCH).exists() else None
        if kept is None:
            refuse_held(self.out, "config.json", "summary.json", "records.jsonl")
        config = config or (WatchConfig() if kept is None else kept[0])
        self.config = config = config.complete()
        if kept is not None:
            refuse_other_learner(self.out, kept[0], config)
        readers = [make_reader(one, config, once=once, out=self.out) for one in sources]
        self.observers = list(observers)
        self._stop, self._flushing = threading.Event(), threading.Event()
        self._asked: Callable[[], bool] = lambda: False
        self._running = False
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None
        self._held = contextlib.ExitStack()
        try:
            self._open(kept, [reader.uri for reader in readers])
        except BaseException:
            self._held.close()
            raise
        self.crew = Crew(readers, self.intakes.of_reader, tell, self.backlog.wake)

    def _open(self, kept: tuple[WatchConfig, dict[str, Any]] | None, sources: list[str]) -> None:
        config = self.config
        with at_most_this_machine():
            self.learner: Learner = config.make_learner()
        self.store = self._held.enter_context(Store(self.out, create=True))
        self._held.enter_context(only_here(self.out))
        before = None if kept is None else (kept[0].cpu, int(kept[1]["threads"]))
        self.threads = choose_threads(config.cpu, before, self.tell)
        write_watch(self.out, config, sources, self.learner, self.threads)
        self.room = Room(self.out, self.tell)
        self.learning = Learning(
            *(self.store, self.learner, self.observers, self.room, self.tell, self._stopping)
        )
        self.intakes = Intakes(self.store, config, self.room, self._stopping)
        self.backlog = self.intakes.backlog
        self.retention = Retention(self.store, config, self.tell)
        self.rates, self.learned = Rates(), 0
        self.saved = True  # False if there was no room for the learner at the end
        self.guard: dict[str, Any] | None = None
        self._guarded = 0

    @property
    def state(self) -> str:
        """What it does: starting, learning, waiting for images or for the disk, or stopped."""
        if not self._running:
            return "stopped" if self._stop.is_set() else "starting"
        if self.room.is_full:
            return "disk full"
        return "learning" if self.backlog.waiting >= self.config.batch_size else "waiting"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, stopping: Callable[[], bool] = lambda: False) -> bool:
        """Learn until all sources have ended, and return True; False if stopped before.

        Without sources it learns what programs feed, until `stop`. At the end, the learner is
        saved.

        Parameters
        ----------
        stopping
            Asked often; True stops like `stop`.
        """
        self._asked, self._running = stopping, True
        torch.set_num_threads(self.threads)
        self.pace, self.budget = Pace(self.config.cpu), MemoryBudget(self.config.memory)
        self._saved_at = self._told_at = time.monotonic()
        try:
            self.crew.start()
            for batch, steps in self.learning.left():
                if self._stopping():
                    break
                self._learn(partial(self.learning.learn, batch, steps))
            return self._loop()
        except StoppedError:
            return False
        finally:
            self._running = False
            self._finish()

    def start(self) -> None:
        """Run in a thread of its own; `close` ends it."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run_in_thread, daemon=True)
            self._running = True
            self._thread.start()

    def feed(
        self, images: Any, when: Any = None, source: str = PROGRAM, *, block: bool = True
    ) -> list[int]:
        """Give images to learn from; return the numbers of those that the gate let through.

        When it returns, they are in the store, and no kill can lose them. Any thread may call it.

        Parameters
        ----------
        images
            uint8, n x h x w x c or n x c x h x w, or a list of images of any sizes.
        when
            When they were taken: unix seconds or a datetime, one for all or one for each. Default:
            now.
        source
            A name of your choice.
        block
            Wait while too many images wait to be learned from. Without it, images are dropped.
        """
        check_text("source", source)
        if not self._running and block and self.backlog.is_full():
            raise InputError("too many images wait; start the watcher first: watcher.start()")
        intake = self.intakes.of_program(source, live=not block)
        with intake.lock:
            intake.live = not block
            return feed(intake, images, when)

    def flush(self) -> None:
        """Learn everything that has come, the last and smaller batch too, and wait for it."""
        self._flushing.set()
        self.backlog.wake()
        while self._running and self._flushing.is_set():
            time.sleep(0.01)
        if self._flushing.is_set() and self._thread is not None:
            self._thread.join()  # it ended before that, and says why when it is done
        self._raise_failure()

    def stop(self) -> None:
        """Stop after this batch and save; does not wait."""
        self._stop.set()
        self.backlog.wake()

    def close(self) -> None:
        """Stop, wait until everything is saved, and release the folder."""
        self.stop()
        if self._thread is not None:
            self._thread.join()
        for one in self.observers:
            one.close()
        self._held.close()
        self._raise_failure()

    def status(self) -> dict[str, Any]:
        """Return how it goes, JSON-able; any thread may ask."""
        return describe(self)

    def _loop(self) -> bool:
        while not self._stopping():
            if self.crew.failure is not None:
                raise self.crew.failure
            ended, flushing = self.crew.has_ended(), self._flushing.is_set()
            if self._learn_waiting(all_of_it=ended or flushing):
                continue
            if flushing:
                self._flushing.clear()
            if ended:
                for one in self.observers:
                    self.room.keep_trying(partial(one.at_end, self.learner), self._stopping)
                return True
            if not self._work_idly():
                self.backlog.wait_for_batch(IDLE_SECONDS)
            self._report()
            self._save_after(max(self.config.checkpoint_seconds, SAVE_SECONDS))
        return False

    def _learn_waiting(self, *, all_of_it: bool) -> bool:
        """Learn the next batch, if there is one."""
        numbers = self.store.waiting(self.config.batch_size)
        if len(numbers) < self.config.batch_size and not (all_of_it and numbers):
            return False
        steps = self.backlog.updates(self.config.steps)
        self._learn(partial(self.learning.learn_next, numbers, steps))
        self.backlog.taken(numbers)
        return True

    def _learn(self, learn: Callable[[], None]) -> None:
        self.budget.check()
        learn()
        self.learned += len(self.store.batch_images(self.learner.step_))
        self._report()
        self._save_after(self.config.checkpoint_seconds)
        self.pace.keep(self._stopping)

    def _save_after(self, seconds: float) -> None:
        """Save the learner and remove what has to leave, if the last time is so long ago."""
        if time.monotonic() - self._saved_at < seconds:
            return
        self._saved_at = time.monotonic()
        try:
            self.learning.save()
            self.retention.apply(self.learner, self.learning.kept)
        except UnwritableError as error:
            self.room.tell_full(str(error))

    def _work_idly(self) -> bool:
        """Let the observers do some of their work; return whether there is more."""
        more = False
        for one in self.observers:
            try:
                more = one.idle(self.learner) or more
            except UnwritableError as error:
                self.room.tell_full(str(error))
        if not more and self.learner.step_ >= GUARD_FACTOR * max(self._guarded, GUARD_FIRST):
            self._guarded, found = self.learner.step_, guard(self.learner)
            self.guard = None if found is None else found.to_json()
        self.pace.keep(self._stopping)
        return more

    def _report(self) -> None:
        if time.monotonic() - self._told_at >= STATUS_SECONDS:
            self._told_at = time.monotonic()
            write_status(self.out, self.status())

    def _finish(self) -> None:
        self._stop.set()
        self.backlog.wake()
        self.crew.join()
        try:
            self.learning.save()
            if self.learning.whole:
                self.learner.save(self.out / LEARNER)
        except UnwritableError as error:
            self.saved = False
            self.tell(
                f"{error}; the learner is not saved, but nothing is lost: it learns again from the "
                "store what came since its last checkpoint"
            )
        write_status(self.out, {**self.status(), "state": "stopped"})

    def _run_in_thread(self) -> None:
        try:
            self.run()
        except BaseException as error:
            self._failure = error

    def _raise_failure(self) -> None:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def _stopping(self) -> bool:
        return self._stop.is_set() or self._asked()
