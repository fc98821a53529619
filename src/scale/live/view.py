"""The state of the learner in which images are compared: it follows the learner in few steps."""

from __future__ import annotations

import copy
import threading
import time

import numpy as np
import numpy.typing as npt

from scale.methods import Learner

LAG = 16  # a view is renewed when the learner has learned a 16th more batches
TURN = 32  # images that one thread embeds before another gets its turn
PAUSE = 0.001  # seconds between turns; without one a waiting thread would hardly get any

Vectors = npt.NDArray[np.float32]  # (n, d), of length 1


class View:
    """A learner that no longer changes. Threads embed with it in turns.

    Parameters
    ----------
    learner
        The learner; it belongs to the view.
    """

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self.step = int(learner.step_)
        self._turn = threading.Lock()

    def embed(self, images: npt.NDArray[np.uint8]) -> Vectors:
        """Return embeddings of length 1, (n, d); a zero stays zero."""
        done = [self._some(images[:TURN])]
        for at in range(TURN, len(images), TURN):
            time.sleep(PAUSE)
            done.append(self._some(images[at : at + TURN]))
        return np.concatenate(done)

    def _some(self, images: npt.NDArray[np.uint8]) -> Vectors:
        with self._turn:
            z = self.learner.transform(images)
        unit: Vectors = z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-12)
        return unit.astype("<f4")


class Views:
    """The newest view of a learner that learns.

    To embed is cheap, but a new state is not: read-outs are fitted anew, and what is known has to
    be embedded again. So views are made at steps that lie further and further apart.

    Parameters
    ----------
    learner
        The learner to follow.
    """

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self._making = threading.Lock()
        self._view: View | None = None

    def newest(self) -> View:
        """Return the newest view."""
        with self._making:
            if self._view is None:
                self._view = self._make()
            return self._view

    def follow(self, lag: int = LAG) -> View:
        """Return a view that is new enough; make one if the learner is a `lag`-th ahead."""
        with self._making:
            if self._view is None or self._learner.step_ >= next_step(self._view.step, lag):
                self._view = self._make()
            return self._view

    def behind(self) -> int:
        """Return the number of batches that the learner has learned since the newest view."""
        return 0 if self._view is None else int(self._learner.step_) - self._view.step

    def _make(self) -> View:
        with self._learner.reading() as still:
            return View(copy.deepcopy(still))


def next_step(step: int, lag: int = LAG) -> int:
    """Return the step at which a view of this step is renewed.

    Examples
    --------
    >>> next_step(0), next_step(20), next_step(1600)
    (1, 21, 1700)
    """
    return step + max(1, step // lag)
