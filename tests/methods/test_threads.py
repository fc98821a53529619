"""A learner that several threads use at once; `check_threads` has the rest."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import nn

import scale
from scale.methods import ER, METHODS, PCA, register_method
from scale.methods.core.sharing import PATIENCE
from scale.testing import _subject
from scale.testing.threads import check_threads

from .learners import differences, fit, images, learn, make, state

HANGS = 300  # seconds after which a test gives up


@pytest.fixture
def aside() -> Iterator[Callable[..., Future[Any]]]:
    """Call something in a new thread."""
    with ThreadPoolExecutor(4) as pool:
        yield pool.submit


class Stops(ER):
    """Stops in the middle of its batches until it may go on, and may fail then."""

    def learn(self, batch, labels):
        super().learn(batch, labels)
        self.begun.set()
        assert self.goes_on.wait(HANGS)
        if self.fails:
            raise RuntimeError("in the middle of a batch")


@pytest.fixture
def stops(monkeypatch) -> Stops:
    for name, value in (
        ("begun", threading.Event()),
        ("goes_on", threading.Event()),
        ("fails", False),
    ):
        monkeypatch.setattr(Stops, name, value, raising=False)
    return Stops(**_subject.SMALL, precision="fp32")


def test_the_first_reader_during_a_batch_sees_the_state_after_it(stops, aside):
    learning = aside(fit, stops, 0, 1)
    assert stops.begun.wait(HANGS)
    reading = aside(stops.transform, images())
    stops.goes_on.set()
    learning.result(HANGS)
    expected = fit(make("er"), last=1).transform(images())
    np.testing.assert_array_equal(reading.result(HANGS), expected)


def test_after_a_failed_batch_readers_see_the_last_whole_one_and_learning_goes_on(stops, aside):
    stops.goes_on.set()
    fit(stops, 0, 1)
    expected = aside(stops.transform, images()).result(HANGS)
    Stops.fails = True
    with pytest.raises(RuntimeError, match="in the middle"):
        fit(stops, 1, 2)
    np.testing.assert_array_equal(aside(stops.transform, images()).result(HANGS), expected)
    Stops.fails = False
    aside(fit, stops, 2, 3).result(HANGS)
    seen = aside(stops.transform, images()).result(HANGS)
    np.testing.assert_array_equal(seen, stops.transform(images()))


def test_batches_of_two_threads_come_one_after_the_other(aside):
    learner, together = make("er"), threading.Barrier(2, timeout=HANGS)

    def one(seed: int) -> None:
        together.wait()
        learn(learner, images(seed=seed))

    for done in [aside(one, seed) for seed in (0, 1)]:
        done.result(HANGS)
    orders = [learn(learn(make("er"), images(seed=a)), images(seed=1 - a)) for a in (0, 1)]
    assert [] in [differences(state(learner), state(order)) for order in orders]


def test_a_method_may_embed_while_it_learns(aside):
    class Looks(ER):
        def learn(self, batch, labels):
            super().learn(batch, labels)
            self.seen_ = self.transform(batch.numpy())

    learner = Looks(**_subject.SMALL)
    aside(learner.transform, images()).result(HANGS)
    fit(learner, 0, 1)
    np.testing.assert_array_equal(learner.seen_, learner.transform(images()))


def test_guard_in_another_thread_is_the_same(aside):
    learner = fit(make("er", memory_size=100), last=6)
    assert aside(scale.guard, learner).result(HANGS) == scale.guard(learner) is not None


def test_several_things_are_read_of_one_state(aside):
    learner = fit(make("er"), last=1)
    read, learned = threading.Event(), threading.Event()

    def two_embeddings() -> tuple[np.ndarray, np.ndarray]:
        with learner.reading() as still:
            first = still.transform(images())
            read.set()
            assert learned.wait(HANGS)
            return first, still.transform(images())

    reading = aside(two_embeddings)
    assert read.wait(HANGS)
    fit(learner, 1, 2)
    learned.set()
    np.testing.assert_array_equal(*reading.result(HANGS))


def test_copies_are_made_only_while_others_read(aside, monkeypatch):
    copies: list[int] = []
    parts = PCA.parts
    learner = fit(PCA(components=3), 0, 1)
    monkeypatch.setattr(PCA, "parts", lambda self: copies.append(id(self)) or parts(self))
    fit(learner, 1, 3).transform(images())
    assert copies == []
    aside(learner.transform, images()).result(HANGS)
    fit(learner, 3, 3 + 3 * PATIENCE)
    assert copies.count(id(learner)) == PATIENCE  # the reader's, and one before each next batch


@pytest.mark.parametrize(
    "copied", [copy.deepcopy, lambda learner: pickle.loads(pickle.dumps(learner))]
)
def test_a_copy_has_turns_of_its_own(copied, aside):
    learner = fit(make("scale-plus"), last=2)
    aside(learner.transform, images()).result(HANGS)
    again = aside(copied, learner).result(HANGS)
    fit(again, 2, 3)
    assert differences(state(fit(learner, 2, 3)), state(again)) == []
    assert vars(clone(learner)).keys() == learner.get_params().keys()


def test_an_encoder_of_the_users_own_that_draws_is_checked():
    layers = (nn.AvgPool2d(4), nn.Flatten(), nn.Linear(49, 20), nn.BatchNorm1d(20), nn.Dropout(0.5))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = nn.Sequential(*layers)
    check_threads(METHODS["cla"], encoder=module)


def test_a_method_that_keeps_something_between_embeddings_needs_nothing_more(monkeypatch):
    class Centred(ER):
        centre_ = None

        def learn(self, batch, labels):
            super().learn(batch, labels)
            self.centre_ = None

        def embed(self, batch):
            if self.centre_ is None and len(self.memory_):
                self.centre_ = self.encode_images(self.memory_.images).mean(0)
            h = self.encode_images(batch)
            return h if self.centre_ is None else h - self.centre_

    monkeypatch.setattr(METHODS, "_entries", dict(METHODS._entries))
    register_method("centred")(Centred)
    check_threads(Centred)
