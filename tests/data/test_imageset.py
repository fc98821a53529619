from __future__ import annotations

import numpy as np
import pytest

from scale._errors import InputError
from scale.data import ImageSet


def make(n: int = 6, labels: object = None, names: tuple[str, ...] = ()) -> ImageSet:
    images = np.arange(n * 12, dtype=np.uint8).reshape(n, 3, 2, 2)
    return ImageSet(images, labels, names, "made", "test")  # type: ignore[arg-type]


@pytest.mark.parametrize("rows", [[4, 1], slice(1, 3), np.array([False, True] * 3)])
def test_subset_keeps_images_and_labels_together(rows: object) -> None:
    labels = np.array([0, 1, 2, 0, 1, 2])
    whole = make(labels=labels, names=("a", "b", "c"))
    part = whole.subset(rows)
    assert np.array_equal(part.images, whole.images[rows])
    assert np.array_equal(part.labels, labels[rows])
    assert part.num_classes == 3


def test_subset_does_not_alias_the_whole() -> None:
    whole = make()
    part = whole.subset(slice(0, 2))
    part.images[:] = 255
    assert whole.images[0, 0, 0, 0] == 0


@pytest.mark.parametrize(
    "images",
    [
        np.zeros((2, 3, 5, 5), np.float32),
        np.zeros((2, 5, 5), np.uint8),
        np.zeros((2, 5, 5, 3), np.uint8),
        np.zeros((0, 3, 5, 5), np.uint8),
    ],
)
def test_images_of_another_kind_are_refused(images: np.ndarray) -> None:
    with pytest.raises(InputError):
        ImageSet(images, None, (), "made", "test")


@pytest.mark.parametrize("labels", [[0, 1], [0, 1, 2, 3, 4, 5], [-1, 0, 0, 0, 0, 0]])
def test_labels_that_do_not_fit_are_refused(labels: list[int]) -> None:
    with pytest.raises(InputError):
        make(labels=np.array(labels), names=("a", "b"))
