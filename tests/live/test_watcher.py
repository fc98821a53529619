"""The watcher: programs that feed it, budgets, a full disk, what leaves the store."""

from __future__ import annotations

import dataclasses
import resource
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from scale._errors import InputError, ScaleError, UnwritableError
from scale.live import Observer, Store, WatchConfig, Watcher, in_memory, read_status
from scale.live.intake import Item
from tests.live.tools import TINY, contents, make_frame, make_images, watch
from tests.waiting import until

FAST = dataclasses.replace(TINY, method="patches", params={})
"""A learner without an encoder: these tests are about what is around it."""


def frames(n: int, start: int = 0) -> np.ndarray:
    return np.stack([make_frame(i) for i in range(start, start + n)])


def test_fed_images_are_in_the_store_when_feed_returns(tmp_path):
    watcher = Watcher(tmp_path, config=FAST)
    assert watcher.feed(frames(3), when=[5, 6, datetime.fromtimestamp(7, UTC)]) == [1, 2, 3]
    assert watcher.feed([make_frame(9), make_frame(8, 48, 48)[..., :1]], source="door") == [4, 5]
    rows = watcher.store.query("SELECT taken, uri FROM images JOIN sources ON sources.id = source")
    assert [row["taken"] for row in rows[:3]] == [5, 6, 7]
    assert [row["uri"] for row in rows] == ["program"] * 3 + ["door"] * 2
    watcher.close()


def test_duplicates_and_blanks_are_skipped_and_counted_by_the_hour(tmp_path):
    watcher = Watcher(tmp_path, config=FAST)
    one = make_frame(1)
    noisy = np.clip(one.astype(int) + np.random.default_rng(0).integers(-3, 4, one.shape), 0, 255)
    grey = np.full_like(one, 128)
    assert watcher.feed([one, noisy.astype(np.uint8), grey, make_frame(2)], when=7200) == [1, 2]
    rows = watcher.store.query("SELECT reason, hour, count FROM skips ORDER BY reason")
    assert [tuple(row) for row in rows] == [("blank", 2, 1), ("duplicate", 2, 1)]
    assert watcher.status()["skipped"] == {"blank": 1, "duplicate": 1}
    watcher.close()


def test_without_the_gate_all_images_are_taken(tmp_path):
    watcher = Watcher(tmp_path, config=dataclasses.replace(FAST, duplicates=0, blanks=0))
    assert len(watcher.feed(np.zeros((4, 8, 8, 3), np.uint8))) == 4
    watcher.close()


@pytest.mark.parametrize(
    ("images", "when", "why"),
    [
        (np.zeros((2, 8, 8, 3)), None, "uint8"),
        (np.zeros((2, 8, 8, 3), np.uint8), [1.0], "one time for each of the 2 images"),
        (np.zeros((1, 8, 8, 3), np.uint8), float("nan"), "when must be"),
        ("hello", None, "must be"),
    ],
)
def test_wrong_images_and_times_are_refused_and_nothing_is_taken(tmp_path, images, when, why):
    watcher = Watcher(tmp_path, config=FAST)
    with pytest.raises(InputError, match=why):
        watcher.feed(images, when)
    assert watcher.store.waiting() == []
    watcher.close()


def test_a_program_waits_and_a_live_one_loses_images_evenly(tmp_path):
    config = dataclasses.replace(FAST, queue=40)
    watcher = Watcher(tmp_path, config=config)
    for i in range(120):
        watcher.feed(frames(1, i), when=float(i), source="live", block=False)
    taken = [row[0] for row in watcher.store.query("SELECT taken FROM images ORDER BY id")]
    assert watcher.status()["dropped"] == 120 - len(taken)
    assert len(taken) <= 40
    assert taken[:20] == list(range(20))  # nothing is lost while half the room is free
    gaps = np.diff(taken)[20:]
    assert (np.diff(gaps) >= -1).all()  # ever fewer, one by one, and no run of them is lost
    watcher.feed(frames(40, 200), when=0.0)  # these can wait, so there is room of their own
    with pytest.raises(InputError, match="start"):
        watcher.feed(frames(1, 300))
    watcher.close()


def test_updates_fall_when_live_images_wait(tmp_path):
    params = {**TINY.params, "steps_per_batch": 4}
    config = dataclasses.replace(TINY, queue=32, params=params)
    watcher = Watcher(tmp_path, config=config)
    for i in range(30):
        watcher.feed(frames(1, i), source="live", block=False)
    assert watcher.status()["updates"] == {"now": 1, "usual": 4}
    watcher.start()
    watcher.flush()
    steps = [row[0] for row in watcher.store.query("SELECT steps FROM batches ORDER BY id")]
    watcher.close()
    assert steps[0] < 4
    assert steps[-1] == 4


class Noted(Observer):
    def __init__(self) -> None:
        self.calls: list[tuple[str, int, tuple[int, ...]]] = []
        self.idled = threading.Event()

    def before_batch(self, step, ids, images, learner):
        assert learner.step_ == step
        self.calls.append(("before", step, tuple(ids)))

    def after_batch(self, step, ids, images, learner):
        assert len(images) == len(ids)
        self.calls.append(("after", step, tuple(ids)))

    def idle(self, learner):
        self.idled.set()
        return False

    def status(self):
        return {"noted": len(self.calls)}


def test_observers_see_each_batch_before_and_after_it(tmp_path):
    noted = Noted()
    with Watcher(tmp_path, config=FAST, observers=[noted]) as watcher:
        watcher.feed(frames(10))
        watcher.flush()
        noted.idled.wait()
        assert watcher.status()["noted"] == 4
    first, rest = tuple(range(1, 9)), (9, 10)
    assert noted.calls == [
        *(("before", 0, first), ("after", 1, first)),
        *(("before", 1, rest), ("after", 2, rest)),
    ]


def test_an_error_of_an_observer_reaches_the_one_who_waits(tmp_path):
    class Broken(Observer):
        def after_batch(self, *_):
            raise ZeroDivisionError

    watcher = Watcher(tmp_path, config=FAST, observers=[Broken()])
    watcher.start()
    watcher.feed(frames(8))
    with pytest.raises(ZeroDivisionError):
        watcher.flush()
    watcher.close()
    with Watcher(tmp_path, config=FAST) as again:  # the batch is in the journal, and not lost
        again.flush()
        assert again.learner.step_ == 1


def test_the_oldest_unnamed_images_leave_first(tmp_path):
    small = {"memory_size": 16, "clusters": 4}
    config = dataclasses.replace(TINY, method="patches", params=small, image_size=64)
    config = dataclasses.replace(config, keep_gb=0.001, checkpoint_seconds=0)
    noise = np.random.default_rng(0).integers(0, 256, (160, 64, 64, 3), dtype=np.uint8)
    with Watcher(tmp_path, config=config) as watcher:
        watcher.feed(noise[:8])
        with watcher.store.transaction() as db:
            db.execute("INSERT INTO names VALUES (3, 'cup', 0)")
        watcher.feed(noise[8:])
        watcher.flush()
        rows = watcher.store.query("SELECT id FROM images WHERE pixels IS NOT NULL ORDER BY id")
        kept = [row[0] for row in rows]
        held = in_memory(watcher.learner)
        assert 3 in kept
        assert held <= set(kept)
        assert len(kept) < 160
        assert kept[-8:] == list(range(153, 161))  # the latest
        assert not watcher.store.thumbnail_path(1).exists() or 1 in held
        assert watcher.store.disk_bytes() < 1.5e6
    with Watcher(tmp_path, config=config) as again:
        assert again.learner.step_ == 20


def test_old_images_leave_while_nothing_comes(tmp_path, monkeypatch):
    monkeypatch.setattr("scale.live.watcher.SAVE_SECONDS", 0.0)
    config = dataclasses.replace(
        TINY, method="pixels", params={}, keep_days=1, checkpoint_seconds=0
    )
    with Watcher(tmp_path, config=config) as watcher:
        watcher.feed(frames(8))
        watcher.flush()
    with Store(tmp_path) as store, store.transaction() as db:
        db.execute("UPDATE images SET came = came - 2 * 86400 WHERE id != 3")
    left = "SELECT id FROM images WHERE pixels IS NOT NULL"
    with Watcher(tmp_path, config=config) as again:
        until(lambda: len(again.store.query(left)) < 8)
        assert [row[0] for row in again.store.query(left)] == [3]


def test_memory_and_learner_agree_on_the_numbers_of_images(tmp_path):
    with Watcher(tmp_path, config=TINY) as watcher:
        watcher.feed(frames(20))
        watcher.flush()
        numbers = in_memory(watcher.learner)
        with watcher.learner.reading() as still:
            order = [int(at) + 1 for at in still.memory_.arrivals]
            assert (watcher.store.pixels(order) == still.memory_.images.numpy()).all()
    assert numbers == set(order)


def test_a_full_disk_stops_images_and_loses_none(tmp_path, limit_files):
    """The disk is full while a file may not grow; then there is room again."""
    make_images(tmp_path / "in", 40)
    watch(tmp_path / "whole", [tmp_path / "in"])
    told = []

    def tell(text):
        told.append(text)
        if "no images are taken" in text:
            limit_files(resource.RLIM_INFINITY)

    source = [str(tmp_path / "in")]
    watcher = Watcher(tmp_path / "live", source, config=TINY, once=True, tell=tell)
    limit_files(150_000)
    assert watcher.run()
    watcher.close()
    said = "\n".join(told)
    assert "no images are taken until then, and nothing is lost" in said
    assert "there is room on the disk again" in said
    assert contents(tmp_path / "live") == contents(tmp_path / "whole")


def test_little_room_is_kept_for_the_learner(tmp_path):
    watcher = Watcher(tmp_path, config=FAST)
    watcher.room.reserve = 10**18
    with pytest.raises(UnwritableError, match="kept free to save the learner"):
        watcher.room.check(1)
    watcher.close()


def test_too_small_a_memory_budget_stops_with_what_to_do(tmp_path):
    config = dataclasses.replace(FAST, memory=0.1)
    watcher = Watcher(tmp_path, config=config)
    watcher.feed(frames(8))
    with pytest.raises(InputError, match="more than --memory allows"):
        watcher.run()
    watcher.close()
    with Watcher(tmp_path, config=dataclasses.replace(FAST, memory=None)) as again:
        again.flush()
        assert again.learner.step_ == 1


@pytest.mark.slow
def test_the_cpu_budget_holds(tmp_path):
    class Busy(Observer):
        def after_batch(self, *_):
            end = time.process_time() + 0.05
            while time.process_time() < end:
                pass

    config = dataclasses.replace(FAST, cpu=0.05)
    watcher = Watcher(tmp_path, config=config, observers=[Busy()])
    watcher.feed(frames(64))
    wall, cpu = time.monotonic(), time.process_time()
    with watcher:
        watcher.flush()
    used = time.process_time() - cpu
    allowed = watcher.pace.allowed * (time.monotonic() - wall)
    assert used < allowed + 0.5


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("every", "10"), ("every", "0s"), ("every", "1.5f"), ("cpu", 0), ("cpu", 2)),
        *(("batch_size", 1), ("queue", 0), ("keep_gb", -1), ("crop", "all"), ("memory", 0)),
        *(("image_size", 2), ("duplicates", -1), ("blanks", "x"), ("method", "nothing")),
    ],
)
def test_options_that_are_not_allowed_are_refused_and_nothing_is_made(tmp_path, name, value):
    with pytest.raises(ScaleError, match=name if name != "method" else "nothing"):
        Watcher(tmp_path / "live", config=WatchConfig(**{name: value}))
    assert not (tmp_path / "live").exists()


def test_status_says_whether_it_runs_stopped_or_was_killed(tmp_path):
    with Watcher(tmp_path, config=FAST) as watcher:
        watcher.feed(frames(8))
        watcher.flush()
        assert watcher.status()["images"] == 8
    found = read_status(tmp_path)
    assert (found["state"], found["step"], found["images"]) == ("stopped", 1, 8)
    status = Path(tmp_path / "status.json")
    status.write_text(status.read_text().replace('"stopped"', '"learning"'))
    assert read_status(tmp_path)["state"] == "killed"
    for damaged in ("[]", '{"state": "learning", "step": 1}', status.read_text()[:20]):
        status.write_text(damaged)
        found = read_status(tmp_path)
        assert (found["state"], found["images"]) == ("stopped", 8)
        assert "status.json is damaged" in found["problem"]


def test_a_live_source_goes_on_without_the_frames_of_a_full_disk(tmp_path):
    watcher = Watcher(tmp_path, config=FAST)
    watcher.feed(frames(1), source="live", block=False)
    intake = watcher.intakes["live"]
    watcher.room.reserve = 10**18
    for i in range(1, 50):
        intake.put(Item(float(i), lambda i=i: make_frame(i)))
    intake.flush()
    watcher.room.reserve = 0
    intake.flush()
    assert len(watcher.store.waiting()) == 33  # the first, and those that could be held
    assert watcher.status()["dropped"] == 17
    watcher.close()
