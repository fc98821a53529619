"""Checks of the contract of streams."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scale.streams import STREAMS
from scale.streams._registry import Indices, Order
from scale.testing._tools import disturb_global_generators, global_random_state, require

COUNTS = ((1,), (7,), (5, 5), (1, 12, 3), (8, 8, 8, 8, 8))
"""Numbers of images of each class in the test streams."""


def check_stream(stream: str | Order) -> None:
    """Check that a stream keeps every rule of the contract.

    Parameters
    ----------
    stream
        A registered name, or the function itself.

    Raises
    ------
    AssertionError
        A rule is broken; the message says which, and what to do.
    """
    for check in STREAM_CHECKS:
        check(stream)


def check_order(stream: str | Order) -> None:
    """A stream returns some of the given samples, each at most once."""
    name, order = _named(stream)
    for counts in COUNTS:
        given = _by_class(counts)
        found = order(given, np.random.default_rng(0))
        require(
            isinstance(found, np.ndarray) and found.dtype == np.int64 and found.ndim == 1,
            f"{name}: it does not return a one-dimensional int64 array",
        )
        require(len(found) > 0, f"{name}: it gives no sample of {sum(counts)}")
        require(len(np.unique(found)) == len(found), f"{name}: it gives a sample twice")
        require(
            bool(np.isin(found, np.concatenate(given)).all()),
            f"{name}: it gives a sample that is not in by_class; return indices out of by_class",
        )


def check_order_is_pure(stream: str | Order) -> None:
    """Equal seeds give equal orders, and the given samples do not change."""
    name, order = _named(stream)
    for counts in COUNTS:
        given = _by_class(counts)
        before = global_random_state()
        first = order(given, np.random.default_rng(1)).copy()
        require(
            global_random_state() == before,
            f"{name}: it draws from a global generator; use the rng that is given",
        )
        require(
            all(np.array_equal(a, b) for a, b in zip(given, _by_class(counts), strict=True)),
            f"{name}: it changes by_class; copy what you reorder",
        )
        disturb_global_generators()
        require(
            np.array_equal(first, order(_by_class(counts), np.random.default_rng(1))),
            f"{name}: two orders of one seed differ; draw from nothing but rng",
        )


STREAM_CHECKS: tuple[Callable[[str | Order], None], ...] = (check_order, check_order_is_pure)
"""The rules one by one: ``check(my_stream)``; `check_stream` runs all of them."""


def _named(stream: str | Order) -> tuple[str, Order]:
    if isinstance(stream, str):
        return stream, STREAMS[stream]
    return getattr(stream, "__name__", "stream"), stream


def _by_class(counts: tuple[int, ...]) -> list[Indices]:
    shuffled = np.random.default_rng(7).permutation(3 * sum(counts))[: sum(counts)]
    return [part.copy() for part in np.split(shuffled, np.cumsum(counts)[:-1])]
