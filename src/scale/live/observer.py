"""What a watcher calls while it learns: novelty, embeddings, a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from scale.methods import Learner

Images = npt.NDArray[np.uint8]  # (n, 3, h, w)


class Observer:
    """Base class of observers; every method does nothing. All run in the thread that learns.

    After a kill, batches since the checkpoint are learned again, and the same calls come again
    with the same values. What an observer writes must be the same rows again.
    """

    def before_batch(self, step: int, ids: Sequence[int], images: Images, learner: Learner) -> None:
        """Look at the next images; the learner has learned `step` batches, without these."""

    def after_batch(self, step: int, ids: Sequence[int], images: Images, learner: Learner) -> None:
        """Look at the last images; the learner has learned `step` batches, these included."""

    def idle(self, learner: Learner) -> bool:
        """Do a piece of work of at most 0.2 seconds; return whether there is more to do."""
        return False

    def at_end(self, learner: Learner) -> None:
        """All sources have ended, and all that came is learned."""

    def status(self) -> dict[str, Any]:
        """Return facts for the watcher's status."""
        return {}

    def close(self) -> None:
        """Release what it holds; the watcher stops."""
