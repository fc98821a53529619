"""What is new: scenes that differ and stay, once; not things that come and go, nor the start."""

import json

import numpy as np
import pytest

import scale
from scale.live import Knowledge, Store, WatchConfig, Watcher
from scale.live.known import DELAY, EVEN, RECENT, Known
from scale.live.layout import apart, layouts
from scale.live.pictures import make_picture
from scale.methods import METHODS

SIDE = 16


def scene(count, colour, seed):
    """Return frames of one place: fixed colours, noise, and a small thing that wanders."""
    rng = np.random.default_rng(seed)
    place = np.clip(rng.normal(colour, 40, (4, 4, 3)), 0, 255).repeat(8, 0).repeat(8, 1)
    frames = np.clip(place + rng.normal(0, 6, (count, 32, 32, 3)), 0, 255)
    for at, frame in enumerate(frames):
        frame[at % 24 : at % 24 + 8, 8:16] = 255
    return list(frames.astype(np.uint8))


def learner():
    return scale.ScalePlus(
        encoder="cnn", augmentation="mnist", steps_per_batch=1, clusters=0, memory_size=32
    )


class Camera:
    """A store that frames are added to, learned in batches as a watcher does."""

    def __init__(self, folder, batch=16, made=None, **options):
        self.store, self.batch, self.options = Store(folder, create=True), batch, options
        self.learner, self.step = made or learner(), 0
        self.knowledge = Knowledge(self.store, self.learner, **options)

    def show(self, frames, camera="door"):
        for at in range(0, len(frames), self.batch):
            self.learn(self.add(frames[at : at + self.batch], camera, float(at)))

    def add(self, frames, camera="door", taken=0.0):
        number = self.store.source(camera, "program")
        return [
            self.store.add_image(number, make_picture(one, SIDE), taken=taken) for one in frames
        ]

    def learn(self, ids):
        self.store.journal(ids, 1)
        images = self.store.pixels(ids)
        self.knowledge.before_batch(self.step, ids, images, self.learner)
        if self.step < 2:  # features that change a little are enough here
            self.learner.partial_fit(images)
        self.step += 1


@pytest.fixture
def camera(tmp_path):
    made = Camera(tmp_path / "watch")
    yield made
    made.store.close()


def test_a_change_of_place_is_one_event_that_says_why_and_ends(camera):
    camera.show(scene(96, 90, 0))
    assert camera.knowledge.events() == []
    camera.show(scene(96, 160, 1))
    (event,) = camera.knowledge.events()
    assert 96 < event.image <= 96 + 20
    assert event.score > event.threshold
    assert event.state == "closed"
    assert event.nearest
    assert all(number <= 96 for number, _ in event.nearest)
    distances = [far for _, far in event.nearest]
    assert distances == sorted(distances)


def test_a_learner_without_an_encoder_finds_it_too(tmp_path):
    camera = Camera(tmp_path / "watch", made=METHODS["patches"]())
    camera.show(scene(96, 90, 0) + scene(32, 160, 1))
    (event,) = camera.knowledge.events()
    assert 96 < event.image <= 96 + 20
    camera.store.close()


def test_what_is_new_is_told_before_its_batch_is_full(tmp_path):
    told = []
    camera = Camera(tmp_path / "watch", tell=told.append)
    camera.show(scene(48, 90, 0))
    waiting = camera.add(scene(8, 160, 1))
    camera.knowledge.idle(camera.learner)
    (event,) = camera.knowledge.events("open")
    assert told == [f"something new: event 1, image {event.image}"]
    camera.learn(waiting)
    assert camera.knowledge.events() == [event], "each image is judged once"
    camera.store.close()


def test_a_place_that_comes_back_is_known(camera):
    first, second = scene(96, 90, 0), scene(96, 160, 1)
    camera.show([*first, *second, *first, *second])
    assert len(camera.knowledge.events()) == 1


def test_nothing_is_new_at_the_start_and_for_a_moment(camera):
    other = scene(4, 160, 1)
    camera.show(other + scene(60, 90, 0) + other + scene(32, 90, 0))
    assert camera.knowledge.events() == []


def test_cameras_are_judged_apart(camera):
    for at in range(6):
        camera.show(scene(96, 90, 0)[at * 16 : at * 16 + 16], "door")
        camera.show(scene(96, 160, 1)[at * 16 : at * 16 + 16], "yard")
    assert camera.knowledge.events() == []


@pytest.mark.parametrize("dismissed", [False, True])
def test_what_is_dismissed_is_known_at_once(dismissed, tmp_path):
    camera = Camera(tmp_path / "watch", batch=8)
    camera.show(scene(48, 90, 0) + scene(8, 160, 1))
    (event,) = camera.knowledge.events("open")
    if dismissed:
        assert camera.knowledge.dismiss(event.id).state == "dismissed"
    camera.show(scene(16, 160, 1)[8:])
    (later,) = camera.knowledge.events()
    assert (later.count == event.count) == dismissed
    camera.store.close()


@pytest.mark.parametrize("old", [False, True])
def test_a_batch_that_is_learned_again_writes_the_same_events(camera, old):
    frames = scene(64, 90, 0) + scene(64, 160, 1)
    camera.show(frames)
    before = [tuple(row) for row in camera.store.query("SELECT * FROM events")]
    state = camera.store.get_meta("novelty")
    if old:  # versions before this one kept the number of the batch
        kept = json.loads(state)
        assert kept.pop("judged") == len(frames)
        camera.store.set_meta("novelty", json.dumps({**kept, "next": 8}))
        state = json.dumps({**kept, "next": 8})
    again = Knowledge(camera.store, camera.learner)
    for step in range(4, 8):  # a checkpoint after 4 batches, then a kill
        ids = camera.store.batch_images(step + 1)
        again.before_batch(step, ids, camera.store.pixels(ids), camera.learner)
    assert [tuple(row) for row in camera.store.query("SELECT * FROM events")] == before
    assert json.loads(camera.store.get_meta("novelty")) == json.loads(state)


def test_a_restart_changes_nothing(tmp_path):
    frames = scene(80, 90, 0) + scene(48, 160, 1)
    whole, broken = Camera(tmp_path / "whole"), Camera(tmp_path / "broken")
    whole.show(frames)
    for at in range(0, len(frames), 16):
        broken.show(frames[at : at + 16])
        broken.knowledge = Knowledge(broken.store, broken.learner)
    drop = {"opened", "closed"}  # the camera's clock starts anew in each call
    rows = [
        [{name: row[name] for name in row.keys() if name not in drop} for row in rows]  # noqa: SIM118
        for rows in (c.store.query("SELECT * FROM events") for c in (whole, broken))
    ]
    assert rows[0] == rows[1]
    assert len(rows[0]) == 1


def test_known_images_that_left_the_store_are_forgotten(camera):
    camera.show(scene(64, 90, 0))
    camera.store.remove(list(range(1, 40)))
    camera.show(scene(64, 160, 1))
    assert len(camera.knowledge.events()) == 1


def test_what_is_known_is_bounded_even_and_recent():
    known = Known()
    layout = np.zeros((16, 12), np.float32)
    for number in range(5000):
        known.add(number + 1, layout)
    places = [seen.place for seen in known.even]
    assert EVEN / 2 <= len(places) <= EVEN
    assert len(set(np.diff(places))) == 1
    assert [seen.place for seen in known.recent] == list(range(5000 - DELAY - RECENT, 5000 - DELAY))


def test_less_than_half_of_a_picture_does_not_count():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 256, (1, 3, 32, 32), dtype=np.uint8)
    b = a.copy()
    b[:, :, :14] = 255 - b[:, :, :14]
    assert apart(layouts(a), layouts(b))[0, 0] == pytest.approx(0, abs=0.002)
    assert apart(layouts(a), layouts(255 - a))[0, 0] > 0.05


def test_light_that_changes_slowly_is_not_new(camera):
    frames = scene(160, 110, 0)
    light = 0.65 + 0.35 * np.cos(np.linspace(0, 4 * np.pi, len(frames)))
    camera.show([(frame * one).astype(np.uint8) for frame, one in zip(frames, light, strict=True)])
    assert camera.knowledge.events() == []


def standing(count, colour, seed):
    """Return frames of one place in which nothing moves, with the noise of a sensor."""
    rng = np.random.default_rng(seed)
    place = np.clip(rng.normal(colour, 40, (4, 4, 3)), 0, 255).repeat(8, 0).repeat(8, 1)
    return list(np.clip(place + rng.normal(0, 1, (count, 32, 32, 3)), 0, 255).astype(np.uint8))


@pytest.mark.parametrize("places", [1, 2, 3])
def test_a_place_that_stands_still_is_new_when_it_stays(tmp_path, places):
    told = []
    config = WatchConfig(method="patches", batch_size=8, image_size=SIDE)
    with Watcher(tmp_path / "watch", config=config) as watcher:
        knowledge = Knowledge(watcher.store, watcher.learner, tell=told.append)
        watcher.observers.append(knowledge)
        for one in range(places):
            watcher.feed(standing(100, 90 + 50 * one, one))
        watcher.feed(standing(100, 90, 0))  # it is known
        watcher.flush()
        knowledge.at_end(watcher.learner)
        events = knowledge.events()
        images = watcher.store.query("SELECT COUNT(*) FROM images")[0][0]
    assert images == places + (places > 1)
    assert [event.image for event in events] == list(range(2, places + 1))
    assert [event.state for event in events] == ["closed"] * (places - 1)
    assert len(told) == places - 1


def test_a_moment_in_a_place_that_stands_still_is_not_new(tmp_path):
    config = WatchConfig(method="patches", batch_size=8, image_size=SIDE)
    with Watcher(tmp_path / "watch", config=config) as watcher:
        knowledge = Knowledge(watcher.store, watcher.learner)
        watcher.observers.append(knowledge)
        for _ in range(3):
            watcher.feed(standing(50, 90, 0) + standing(3, 160, 1))
        watcher.flush()
        knowledge.at_end(watcher.learner)
        assert knowledge.events() == []
