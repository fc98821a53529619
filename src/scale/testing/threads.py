"""The check of a learner that several threads use at once."""

from __future__ import annotations

import contextlib
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import numpy as np
from torch import Tensor

from scale._tensors import read_tensors
from scale.methods import Learner, load
from scale.testing._subject import Subject, fit, images, learn, state
from scale.testing._tools import differences, disturb_global_generators, listed

BATCHES = 3
HANGS = 300.0  # seconds after which a thread that waits for another is given up


def check_threads(method: type[Learner], **params: Any) -> None:
    """Threads that embed, save and load see whole batches, and do not change what is learned."""
    subject = Subject(method, params)
    alone = _Alone(subject)
    meeting = threading.Barrier(3, timeout=HANGS)
    learner = _meeting_others(method, meeting)(**subject.params)
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        readers = [
            pool.submit(_embed, alone, learner, meeting),
            pool.submit(_save, alone, learner, meeting, Path(folder) / "learner"),
        ]
        with _told_to_all(meeting), contextlib.suppress(threading.BrokenBarrierError):
            meeting.wait()  # both have read once
            fit(learner, 0, BATCHES)
        errors = [reader.exception() for reader in readers]
    _raise_first(subject, [error for error in errors if error is not None])
    changed = differences(alone.states[BATCHES], state(learner))
    subject.require(
        not changed,
        f"learning beside threads that read differs from learning alone ({listed(changed)}); keep "
        "what embed stores in the learner, not in its class or module",
    )


class _Alone:
    """Embeddings and states after each batch, learned in one thread."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        learner = subject.new()
        self.ways = [way for way in ("transform", "encode") if hasattr(learner, way)]
        self.embeddings = [self.embedded_by(learner)]
        self.states: list[dict[str, Tensor]] = [{}]
        for batch in range(BATCHES):
            fit(learner, batch, batch + 1)
            self.embeddings.append(self.embedded_by(learner))
            self.states.append(state(learner))

    def embedded_by(self, learner: Learner) -> dict[str, np.ndarray]:
        return {way: getattr(learner, way)(images(5)) for way in self.ways}


def _embed(alone: _Alone, learner: Learner, meeting: threading.Barrier) -> None:
    for batch in _batches(learner, meeting):
        for way, embedding in alone.embedded_by(learner).items():
            alone.subject.require(
                np.array_equal(embedding, alone.embeddings[batch][way]),
                f"{way} in another thread is not that of a learner alone after a whole batch; "
                "return what embed needs from parts, and keep nothing in the class or module",
            )
        disturb_global_generators()


def _save(alone: _Alone, learner: Learner, meeting: threading.Barrier, path: Path) -> None:
    encoder = learner.get_params().get("encoder")
    module = None if isinstance(encoder, str) else encoder
    for batch in _batches(learner, meeting):
        if batch == 0:
            alone.subject.refuses(lambda: learner.save(path), "to save before the first batch")
            continue
        learner.save(path)
        for seen in (read_tensors(path)[0], learner.state_dict()):
            alone.subject.require(
                not differences(alone.states[batch], seen),
                "the state in another thread is not that of a learner alone after a whole batch; "
                "return what has a state from parts, and keep nothing in the class or module",
            )
        loaded = load(path, encoder=module)
    learn(loaded, images(seed=7))


def _batches(learner: Learner, meeting: threading.Barrier) -> Iterator[int]:
    """Yield how many batches were learned: once before all, then during each."""
    with _told_to_all(meeting):
        learner.transform(images(2))  # before the batches, so that the learner knows its readers
        meeting.wait()
        for batch in range(BATCHES):
            meeting.wait()  # the batch begins
            yield batch
            meeting.wait()  # it may end


def _meeting_others(method: type[Learner], meeting: threading.Barrier) -> type[Learner]:
    """Return a class whose every batch begins and ends together with the readers' work."""

    def learn_with_others(self: Any, batch: Tensor, labels: Tensor | None) -> None:
        meeting.wait()
        method.learn(self, batch, labels)
        meeting.wait()

    return cast("type[Learner]", type(method.__name__, (method,), {"learn": learn_with_others}))


@contextlib.contextmanager
def _told_to_all(meeting: threading.Barrier) -> Iterator[None]:
    """Let nobody wait for a thread that has failed."""
    try:
        yield
    except BaseException:
        meeting.abort()
        raise


def _raise_first(subject: Subject, errors: list[BaseException]) -> None:
    """Raise an error of the readers, at best one that made the others fail."""
    for error in errors:
        if not isinstance(error, threading.BrokenBarrierError):
            raise error
    subject.require(not errors, "a thread that reads and one that learns wait for each other")
