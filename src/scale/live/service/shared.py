"""Answers that take long are computed once for all who ask meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

R = TypeVar("R")
MOST = 16  # answers that are kept


class Shared(Generic[R]):
    """Computes an answer, and gives it to everyone who asks for the same thing soon after.

    Parameters
    ----------
    seconds
        How long an answer holds while its key stays the same.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._answers: dict[Hashable, tuple[float, R]] = {}

    def get(self, key: Hashable, compute: Callable[[], R]) -> R:
        """Return the answer of `compute`, or the one of a short time ago.

        Parameters
        ----------
        key
            What the answer depends on.
        compute
            Returns the answer; one thread at a time runs it.
        """
        with self._lock:
            found = self._answers.get(key)
            if found is not None and time.monotonic() - found[0] < self._seconds:
                return found[1]
            answer = compute()
            if len(self._answers) >= MOST:
                self._answers.clear()
            self._answers[key] = (time.monotonic(), answer)
            return answer
