"""learning a batch of 256 digits: STAM beside SCALE with the paper's 20 updates, and with 5."""

from __future__ import annotations

import time

import numpy as np

from benchmarks._measure import Row, row
from scale.data import load_dataset
from scale.methods import METHODS, Learner
from scale.runs import default_parameters

STREAM_BATCH = 256


def main(quick: bool = False) -> list[Row]:
    """Time the last of a few batches, when the memories hold images."""
    batches, n = (2, 16) if quick else (6, STREAM_BATCH)
    images = load_dataset("digits").images[: batches * n]
    stam = seconds_of_last(make("stam"), images, n)
    rows = []
    for updates in (20, 5):
        scale = seconds_of_last(make("scale", steps_per_batch=updates), images, n)
        what = f"STAM, a batch of {n}"
        rows.append(row(what, stam * 1e3, (f"SCALE, {updates} updates", scale * 1e3)))
    return rows


def make(method: str, **params: int) -> Learner:
    """Return a learner with the parameters of MNIST's card."""
    return METHODS[method](**{**default_parameters("mnist", method), **params})


def seconds_of_last(learner: Learner, images: np.ndarray, n: int) -> float:
    """Learn the batches one after the other and return the time of the last."""
    for first in range(0, len(images), n):
        start = time.perf_counter()
        learner.partial_fit(images[first : first + n])
        seconds = time.perf_counter() - start
    return seconds
