"""What a live learner knows: search, names, groups, a map, what is new, and why."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from scale._errors import NonFiniteFeaturesError
from scale._numbers import check_number
from scale.live import drift
from scale.live.alerts import AlertOptions, Alerts
from scale.live.embeddings import Embeddings, Progress, check_ids
from scale.live.events import STATES, Event, Patience
from scale.live.groups import Group, Point, Projection, find_groups, project
from scale.live.learning import load_learner
from scale.live.names import (
    CONFIDENT,
    GivenNames,
    Named,
    NameSummary,
    check_name,
    name_images,
    summaries,
)
from scale.live.observer import Observer
from scale.live.rows import paths_of, spread, stored, times
from scale.live.search import Answer, Hit, as_query
from scale.live.store import Store
from scale.live.view import Vectors, View, Views
from scale.live.watchfulness import Watchfulness
from scale.methods import Learner

CANDIDATES = 64  # images that a search compares anew, at least
NEW_AT_ONCE = 256  # images without an embedding that a search embeds first
SAMPLE = 600  # images among which groups are found
NAMED_AT_ONCE = 4096
IDLE_IMAGES = 16  # images embedded in one piece of idle work
WORK = 4096  # images in the list of idle work
BUSY_BATCHES = 8  # batches without idle time, after which images are embedded as they are learned
DRIFT_EVERY = 8  # batches without idle time, after which drift is measured all the same
AHEAD, AHEAD_SECONDS = 256, 2.0  # images that wait are judged at most so often
BUSY_LAG = 2  # then the view is renewed only when the learner has learned half as much again


@dataclass(frozen=True)
class Explanation:
    """Why an image is called what it is: its name, its nearest images, the events it is part of."""

    name: Named
    nearest: tuple[Hit, ...]
    events: tuple[Event, ...]


class Knowledge(Observer):
    """Search, names, groups, a map and events of the images in a store. Any thread may use it.

    All images that are compared are embedded by one view of the learner, which follows it. As an
    observer of a watcher it finds what is new before each batch.

    Parameters
    ----------
    store
        The store of a live learner.
    learner
        Its learner; it may be learning.
    confident
        Confidence from which an image gets the name of its neighbours; below it is "unknown".
    patience
        When something new becomes an event.
    alerts
        Who is told about events.
    tell
        Called with a message for each event.
    """

    def __init__(
        self,
        store: Store,
        learner: Learner,
        *,
        confident: float = CONFIDENT,
        patience: Patience | None = None,
        alerts: AlertOptions | None = None,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        check_number("confident", confident, least=0, most=1)
        self.store = store
        self.learner = learner
        self.confident = confident
        self.embeddings = Embeddings(store)
        self.given = GivenNames(store)
        self.views = Views(learner)
        self.watchfulness = Watchfulness(store, patience)
        self.alerts = Alerts((alerts or AlertOptions()).receivers())
        self.tell = tell
        self._looked = 0.0  # when images that wait were last judged
        self._work: list[int] = []
        self._busy = 0  # batches since the last idle time
        self._drift = drift.Kept(self.drift)

    @classmethod
    def open(
        cls,
        folder: Path,
        tell: Callable[[str], None] = lambda text: None,
        *,
        confident: float = CONFIDENT,
    ) -> Self:
        """Return the knowledge of a live learner, which may be running in another process.

        Parameters
        ----------
        folder
            Folder of the live learner. Its newest saved learner is used.
        tell
            Called with a message for each damaged checkpoint.
        confident
            See above.
        """
        check_number("confident", confident, least=0, most=1)
        store = Store(folder)
        try:
            return cls(store, load_learner(store.folder, tell), confident=confident)
        except BaseException:
            store.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self.store.close()

    def search(
        self, query: int | npt.NDArray[np.uint8], k: int = 12, progress: Progress | None = None
    ) -> Answer:
        """Return the stored images most similar to one.

        Parameters
        ----------
        query
            The number of a stored image, which is not among the hits; or a uint8 image of any size.
        k
            Maximum number of hits.
        progress
            Called with (done, total) while images are embedded.
        """
        check_number("k", k, least=1, most=10_000, whole=True)
        view, own = self.views.newest(), None
        if isinstance(query, np.ndarray):
            vector = view.embed(as_query(query, self._side()))[0]
        else:
            own = check_ids(self.store, [query])[0]
            vector = self.embeddings.fresh([own], view)[0]
        self.embeddings.fresh(self.embeddings.missing(NEW_AT_ONCE), view, progress)
        near = self.embeddings.index().nearest(vector, max(CANDIDATES, 4 * k) + 1)
        taken = times(self.store, [one for one in near if one != own])
        scores = self.embeddings.fresh(list(taken), view, progress) @ vector if taken else []
        hits = [Hit(*hit) for hit in zip(taken, map(float, scores), taken.values(), strict=True)]
        hits.sort(key=lambda hit: (-hit.score, hit.id))
        return Answer(tuple(hits[:k]), self.embeddings.count_stale(view), view.step)

    def name(self, ids: Sequence[int], name: str) -> list[int]:
        """Give images a name; one that they had is replaced. Return the images, each once."""
        return self.given.give(ids, check_name(name))

    def unname(self, ids: Sequence[int]) -> int:
        """Take given names away; return how many images had one."""
        return self.given.take(ids)

    def names(self) -> list[NameSummary]:
        """Return the given names, with their number of images and leave-one-out accuracy."""
        given = self.given.all()
        return summaries(given, self._vectors(list(given)))

    def named(
        self, ids: Sequence[int] | None = None, progress: Progress | None = None
    ) -> list[Named]:
        """Return the name of each image, given or by its neighbours, with a confidence.

        Parameters
        ----------
        ids
            The images; by default all in the store, in order of arrival.
        progress
            Called with (done, total) while images are embedded.
        """
        wanted = stored(self.store) if ids is None else check_ids(self.store, ids)
        given, view = self.given.all(), self.views.newest()
        voters = self._vectors(list(given), view)
        found: list[Named] = []
        for at in range(0, len(wanted), NAMED_AT_ONCE):
            some = wanted[at : at + NAMED_AT_ONCE]
            asked = [one for one in some if one not in given] if given else []
            vectors = self._vectors(asked, view, progress)
            paths = paths_of(self.store, some)
            found += name_images(paths, given, voters, asked, vectors, self.confident)
        return found

    def groups(self, sample: int = SAMPLE) -> list[Group]:
        """Return groups of similar images without a given name, the clearest first."""
        check_number("sample", sample, least=1, whole=True)
        given = self.given.all()
        ids = spread([one for one in stored(self.store) if one not in given], sample)
        return find_groups(ids, self._vectors(ids))

    def map(self, n: int = 1000, method: Projection = "tsne") -> list[Point]:
        """Return images in the plane; similar ones lie together.

        Parameters
        ----------
        n
            Maximum number of images, spread evenly over all.
        method
            t-SNE shows groups and takes seconds for 1,000 images; PCA takes none.
        """
        check_number("n", n, least=1, whole=True)
        ids = spread(stored(self.store), n)
        if not ids:
            return []
        plane = project(self._vectors(ids), method)
        names = self.named(ids)
        return [
            Point(one, float(x), float(y), row.name)
            for one, (x, y), row in zip(ids, plane, names, strict=True)
        ]

    def memory(self) -> list[int]:
        """Return the images in the learner's memory, in the order of the memory."""
        memory = self.views.newest().learner.memory_
        if memory is None:
            return []
        rows = self.store.query("SELECT id FROM images WHERE batch IS NOT NULL ORDER BY batch, id")
        return [rows[at][0] for at in memory.arrivals.tolist() if at < len(rows)]

    def drift(self) -> float | None:
        """Return how far the last 32 images are from the whole past, in standard units.

        The distance between the means of their embeddings, divided by the spread of the past.
        32 images like those of the past are at about 0.2, a scene unlike them above 1. None until
        64 images are stored.
        """
        recent, past = drift.choose(self.store)
        if len(past) < drift.FEWEST:
            return None
        z = self._vectors([*recent, *past])
        return drift.measure(z[: len(recent)], z[len(recent) :])

    def events(self, state: str | None = None) -> list[Event]:
        """Return events in the order in which they were opened: all, open, closed or dismissed."""
        return self.watchfulness.log.all(state)

    def dismiss(self, event: int) -> Event:
        """Call what an event shows normal: its images are known from the next batch on."""
        return self.watchfulness.log.dismiss(event)

    def explain(self, image: int, k: int = 5) -> Explanation:
        """Return the name of an image and who decided, its nearest images, and its events."""
        number = check_ids(self.store, [image])[0]
        shown = [one for one in self.events() if number in (one.image, *one.images)]
        return Explanation(self.named([number])[0], self.search(number, k).hits, tuple(shown))

    def before_batch(
        self, step: int, ids: Sequence[int], images: npt.NDArray[np.uint8], learner: Learner
    ) -> None:
        """Find what is new, and tell about it."""
        self._look(ids, images, learner)

    def after_batch(
        self, step: int, ids: Sequence[int], images: npt.NDArray[np.uint8], learner: Learner
    ) -> None:
        """Embed the images, if there is no idle time to do it later."""
        self._busy += 1
        if step % DRIFT_EVERY == 0 or step & (step - 1) == 0:  # soon after the start, then seldom
            self._measure_drift()
        if self._busy <= BUSY_BATCHES:
            return
        view = self.views.follow(lag=BUSY_LAG)
        with contextlib.suppress(NonFiniteFeaturesError):
            self.embeddings.write(ids, view.step, view.embed(images))

    def idle(self, learner: Learner) -> bool:
        """Embed a few images whose embedding is missing or stale; return whether more are."""
        self._busy = 0
        self._look_ahead(learner)
        view = self.views.follow()
        if not self._work:
            self._work = self.embeddings.stale(view, WORK)[::-1]
        some = [self._work.pop() for _ in range(min(IDLE_IMAGES, len(self._work)))]
        with contextlib.suppress(NonFiniteFeaturesError):
            self._vectors(list(times(self.store, some)), view)
        if not self._work:
            self._measure_drift()
        return bool(self._work)

    def at_end(self, learner: Learner) -> None:
        """Follow scenes that stood still at the end."""
        self._tell(self.watchfulness.follow())

    def status(self) -> dict[str, Any]:
        """Return facts for the watcher's status."""
        counts = self.store.query("SELECT state, COUNT(*) FROM events GROUP BY state")
        return {
            "events": dict.fromkeys(STATES, 0) | {row[0]: row[1] for row in counts},
            "alerts": self.alerts.status(),
            "drift": self._drift.value,
            "view_behind": self.views.behind(),
            "not_judged": self.watchfulness.failed,
        }

    def close(self) -> None:
        """Stop the threads of alerts."""
        self.alerts.close()

    def _look_ahead(self, learner: Learner) -> None:
        """Judge images that wait for the rest of their batch; the news must not wait too."""
        now = time.monotonic()
        if now - self._looked < AHEAD_SECONDS:
            return
        self._looked = now
        ids = self.watchfulness.unjudged(self.store.waiting(AHEAD))
        if ids:
            self._look(ids, self.store.pixels(ids), learner)
        self._tell(self.watchfulness.follow())

    def _look(self, ids: Sequence[int], images: npt.NDArray[np.uint8], learner: Learner) -> None:
        self._tell(self.watchfulness.look(ids, images, learner))

    def _tell(self, events: Sequence[Event]) -> None:
        for event in events:
            path = paths_of(self.store, [event.image])[event.image]
            self.alerts.tell(event, path=path, folder=os.path.abspath(self.store.folder))
            self.tell(f"something new: event {event.id}, {path or f'image {event.image}'}")

    def _measure_drift(self) -> None:
        last = self.store.query("SELECT COALESCE(MAX(id), 0) FROM images")[0][0]
        self._drift.renew(self.views.follow(lag=BUSY_LAG).step, int(last))

    def _side(self) -> int:
        shape = self.views.newest().learner.image_shape_
        if shape is not None:
            return shape[1]
        return int(self.store.pixels(stored(self.store)[:1]).shape[-1])

    def _vectors(
        self, ids: Sequence[int], view: View | None = None, progress: Progress | None = None
    ) -> Vectors:
        return self.embeddings.fresh(ids, view or self.views.newest(), progress)
