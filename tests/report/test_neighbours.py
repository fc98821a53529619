from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.neighbors import NearestNeighbors

from scale._errors import InputError
from scale.report.neighbours import NEIGHBOURS, draw_neighbours, nearest, share_of_same_class


@pytest.fixture
def features() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(40, 5))


def test_neighbours_are_those_of_scikit_learn(features: np.ndarray) -> None:
    model = NearestNeighbors(n_neighbors=NEIGHBOURS + 1, metric="cosine").fit(features)
    expected = model.kneighbors(features, return_distance=False)[:, 1:]  # the first is the row
    found = np.stack([nearest(features, i) for i in range(len(features))])
    np.testing.assert_array_equal(found, expected)
    labels = np.arange(40) % 3
    share = (labels[expected] == labels[:, None]).mean()
    assert share_of_same_class(features, labels) == pytest.approx(share)


@pytest.mark.parametrize(("count", "classes", "channels"), [(24, 9, 3), (3, 2, 1), (1, 1, 4)])
def test_any_number_of_images_and_classes_is_drawn(
    tmp_path: Path, count: int, classes: int, channels: int
) -> None:
    rng = np.random.default_rng(0)
    before, after = rng.normal(size=(2, count, 4))
    images = rng.integers(0, 256, (count, channels, 8, 8), dtype=np.uint8)
    names = [f"class {t}" for t in range(classes)]
    draw_neighbours(before, after, images, np.arange(count) % classes, names, tmp_path / "n.png")
    with Image.open(tmp_path / "n.png") as picture:
        assert picture.width > 1000


def test_embeddings_of_other_images_are_refused(features: np.ndarray, tmp_path: Path) -> None:
    images, labels = np.zeros((39, 1, 8, 8), np.uint8), np.zeros(40, int)
    with pytest.raises(InputError, match="39 images and 40 labels"):
        draw_neighbours(features, features, images, labels, ["a"], tmp_path / "n.png")
    assert not (tmp_path / "n.png").exists()
