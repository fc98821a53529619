"""Follows the novelty of every scene while a watcher learns, and keeps its place in the store."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scale._errors import NonFiniteFeaturesError
from scale.live.events import Event, EventLog, Patience, Tracker, advance, stay
from scale.live.kept import reading, table_in
from scale.live.known import DELAY, Known
from scale.live.layout import Layouts, layouts
from scale.live.novelty import Judgement, features, judge
from scale.live.rows import Sighting, is_last, looked_at, sightings, times
from scale.live.store import Store
from scale.methods import Learner

KEY = "novelty"  # of the state in the table `meta`
LONGEST = 200  # frames that an image stays for, after which more change nothing


class Watchfulness:
    """Judges each image once, in order of arrival, at the latest before it is learned.

    A batch that is learned again after a kill is not judged again.

    Parameters
    ----------
    store
        The store.
    patience
        When something new becomes an event.
    """

    def __init__(self, store: Store, patience: Patience | None = None) -> None:
        self.store = store
        self.patience = patience or Patience()
        self.log = EventLog(store)
        self.failed = 0  # batches that could not be judged, because the learner diverged
        self._judged: int  # the last image that was judged
        self._trackers: dict[int, Tracker]  # by scene
        self._dismissed: set[int]  # events whose images are known
        self._load()

    def unjudged(self, ids: Sequence[int]) -> list[int]:
        """Return the images that have yet to be judged."""
        return [one for one in ids if one > self._judged]

    def look(
        self, ids: Sequence[int], images: npt.NDArray[np.uint8], learner: Learner
    ) -> list[Event]:
        """Judge images, except those that were judged before; return new events."""
        fresh = self.unjudged(ids)
        if not fresh:
            return []
        try:
            opened = self._look(fresh, dict(zip(ids, images, strict=True)), learner)
        except NonFiniteFeaturesError:
            self.failed += 1
            self._load()
            self._judged = fresh[-1]
            return []
        except BaseException:  # a full disk: what was not written did not happen
            self._load()
            raise
        return [self.log.get(number) for number in opened]

    def follow(self) -> list[Event]:
        """Follow scenes that stand still, of which the last image stays; return new events."""
        stays = {scene: self._stays_until_now(one) for scene, one in self._trackers.items()}
        stays = {scene: found for scene, found in stays.items() if found[0]}
        if not stays:
            return []
        try:
            with self.store.transaction() as db:
                opened = []
                for scene, (frames, when) in stays.items():
                    tracker = self._trackers[scene]
                    tracker.known.stay(frames)
                    tracker.looked = (tracker.looked or 0) + frames
                    opened += stay(tracker, frames, when, self.patience, db)
                self._save()
        except BaseException:
            self._load()
            raise
        return [self.log.get(number) for number in opened]

    def known(self, scene: int) -> Known | None:
        """Return what a scene is known to show."""
        tracker = self._trackers.get(scene)
        return None if tracker is None else tracker.known

    def _look(
        self, ids: Sequence[int], own: dict[int, npt.NDArray[np.uint8]], learner: Learner
    ) -> list[int]:
        def embed(numbers: Sequence[int]) -> npt.NDArray[np.float32]:
            others = [one for one in numbers if one not in own]
            read = dict(zip(others, self.store.pixels(others), strict=True)) if others else {}
            return features(learner, np.stack([(own | read)[one] for one in numbers]))

        self._take_dismissed()
        facts = sightings(self.store, ids)
        judged: dict[int, tuple[list[Judgement], list[int]]] = {}
        for scene in dict.fromkeys(fact.scene for fact in facts.values()):
            tracker = self._trackers.setdefault(scene, Tracker())
            self._forget(tracker.known)
            some = [one for one in ids if facts[one].scene == scene]
            stays = self._stays(tracker, [facts[one] for one in some])
            images = np.stack([own[one] for one in some])
            judged[scene] = judge(tracker.known, some, images, embed, stays), stays
        taken = {one: fact.taken for one, fact in facts.items()}
        self._judged = ids[-1]
        with self.store.transaction() as db:
            opened = [
                number
                for scene, (some, stays) in judged.items()
                for number in advance(self._trackers[scene], some, taken, self.patience, db, stays)
            ]
            self._save()
        return opened

    def _stays(self, tracker: Tracker, facts: Sequence[Sighting]) -> list[int]:
        """Return in how many frames the image before each one stayed; count them."""
        stays = []
        for fact in facts:
            frames = 0
            if tracker.source is not None and tracker.looked is not None:
                if fact.source != tracker.source:  # the next video file
                    frames = looked_at(self.store, tracker.source)[0] - tracker.looked
                elif fact.looked is not None:
                    frames = fact.looked - tracker.looked - 1
            stays.append(max(frames, 0))
            tracker.source, tracker.looked = fact.source, fact.looked
        return stays

    def _stays_until_now(self, tracker: Tracker) -> tuple[int, float]:
        """Return in how many more frames the last image stayed, and until when."""
        source, last = tracker.source, tracker.last
        if source is None or tracker.looked is None or last is None or tracker.stayed > LONGEST:
            return 0, 0.0
        looked, when = looked_at(self.store, source)
        if looked <= tracker.looked or not is_last(self.store, source, last.id):
            return 0, 0.0
        return looked - tracker.looked, tracker.taken if when is None else when

    def _take_dismissed(self) -> None:
        """Know the images of events that a person called normal since the last batch."""
        for event in self.log.all("dismissed"):
            if event.id in self._dismissed:
                continue
            self._dismissed.add(event.id)
            for number, layout in _layouts(self.store, event.images).items():
                scene = sightings(self.store, [number])[number].scene
                self._trackers.setdefault(scene, Tracker()).known.accept(number, layout)
            for tracker in self._trackers.values():
                if tracker.event == event.id:
                    tracker.event, tracker.run, tracker.new = None, [], 0
                    tracker.stayed = max(tracker.stayed, DELAY)  # what is in view is known

    def _forget(self, known: Known) -> None:
        numbers = [seen.id for seen in (*known.all(), *known.waiting)]
        known.forget(set(numbers) - set(times(self.store, numbers)))

    def _save(self) -> None:
        state = {
            "judged": self._judged,
            "dismissed": sorted(self._dismissed),
            "scenes": {str(one): tracker.state() for one, tracker in self._trackers.items()},
        }
        self.store.set_meta(KEY, json.dumps(state))

    def _load(self) -> None:
        self._judged, self._trackers, self._dismissed = 0, {}, set()
        text = self.store.get_meta(KEY)
        if text is None:
            return
        with reading(self.store.path, "what is known to novelty"):
            self._use(table_in(text))

    def _use(self, state: dict[str, Any]) -> None:
        self._judged = state["judged"] if "judged" in state else self._last_of(state["next"])
        self._dismissed = set(state["dismissed"])
        for scene, saved in state["scenes"].items():
            known = Known.restored(
                saved.pop("known"), lambda numbers: _layouts(self.store, numbers)
            )
            self._trackers[int(scene)] = Tracker.restored(saved, known)

    def _last_of(self, batch: int) -> int:
        """Return the last image up to a batch: stores of older versions kept the batch."""
        sql = "SELECT COALESCE(MAX(id), 0) FROM images WHERE batch <= ?"
        return int(self.store.query(sql, batch)[0][0])


def _layouts(store: Store, numbers: Sequence[int]) -> dict[int, Layouts]:
    there = list(times(store, list(dict.fromkeys(numbers))))
    return dict(zip(there, layouts(store.pixels(there)), strict=True)) if there else {}
