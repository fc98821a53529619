"""A store with images of digits, and a learner that has learned from them."""

import numpy as np
import pytest

import scale
from scale.live import Knowledge, Store
from scale.live.pictures import make_picture

SIDE = 16


def digit_frames(count):
    """Return the first digits as RGB frames of 16 x 16, and their classes."""
    data = scale.load_dataset("digits")
    frames = np.repeat(data.images[:count, 0, :, :, None], 3, axis=3)
    small = [frame[6:22, 6:22] for frame in frames]
    return small, data.labels[:count]


def filled(folder, count=96, batch=32):
    """Return a store with `count` digits in its journal, and a learner that learned them."""
    frames, labels = digit_frames(count)
    store = Store(folder, create=True)
    camera = store.source("camera", "program")
    for at, frame in enumerate(frames):
        store.add_image(camera, make_picture(frame, SIDE), taken=float(at), path=f"{at:03d}.png")
    learner = scale.ScalePlus(
        encoder="cnn", augmentation="digits", steps_per_batch=1, clusters=32, memory_size=32
    )
    for at in range(0, count, batch):
        ids = list(range(at + 1, at + batch + 1))
        store.journal(ids, 1)
        learner.partial_fit(store.pixels(ids))
    return store, learner, labels


@pytest.fixture(scope="session")
def learned(tmp_path_factory):
    """Return a folder with a store, its learner and the classes; for reading only."""
    folder = tmp_path_factory.mktemp("live") / "watch"
    store, learner, labels = filled(folder)
    yield folder, store, learner, labels
    store.close()


@pytest.fixture
def knowledge(learned, tmp_path):
    """Return knowledge of a copy of the store, to be changed at will."""
    import shutil

    folder, store, learner, _ = learned
    store.query("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copytree(folder, tmp_path / "watch")
    with Store(tmp_path / "watch") as copy:
        yield Knowledge(copy, learner)
