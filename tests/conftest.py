from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the user's cache out of the tests."""
    os.environ["SCALE_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def small_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Real digits of three classes, 40 train and 10 test images each, as an .npz file."""
    images, labels = load_digits(return_X_y=True)
    chosen = np.concatenate([np.flatnonzero(labels == c)[:50] for c in range(3)])
    pixels = (images[chosen] * 255 / 16).astype(np.uint8).reshape(-1, 8, 8)
    pixels = pixels.repeat(2, axis=1).repeat(2, axis=2)  # 16 x 16
    test = np.arange(len(chosen)) % 5 == 0
    path = tmp_path_factory.mktemp("data") / "small.npz"
    np.savez(
        path,
        x_train=pixels[~test],
        y_train=labels[chosen][~test],
        x_test=pixels[test],
        y_test=labels[chosen][test],
    )
    return path
