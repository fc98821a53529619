"""Streams of two kinds of images that no learner may confuse."""

from __future__ import annotations

import numpy as np


def left_or_right(n: int, right: bool, seed: int = 0) -> np.ndarray:
    """Return binary images, n x 1 x 16 x 16, with a bright left or right half and some noise."""
    rng = np.random.default_rng(seed + 1000 * right)
    images = np.zeros((n, 1, 16, 16), np.uint8)
    images[:, :, :, 8:] = 255
    if not right:
        images = images[:, :, :, ::-1].copy()
    flipped = rng.random(images.shape) < 0.02
    return np.where(flipped, 255 - images, images).astype(np.uint8)
