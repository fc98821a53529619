"""The gate for images and labels: every entrance follows one rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from scale._errors import InputError
from scale._images import CHANNELS, as_batch, as_labels, channels_first, check_labels, resized
from scale.data import load_dataset
from scale.methods import METHODS
from scale.streams import batches, make_order

sides = st.integers(1, 7)
shapes = st.tuples(st.integers(1, 3), sides, sides, sides)


def of_partial_fit(images: np.ndarray) -> np.ndarray:
    """The batch as a learner sees it: raw pixels are its features."""
    learner = METHODS["pixels"]().partial_fit(images)
    values = learner.transform(images).reshape(len(images), *learner.image_shape_)
    return np.rint(values * 255).astype(np.uint8)


ENTRANCES: dict[str, Any] = {
    "partial_fit": of_partial_fit,
    "as_batch": lambda images: as_batch(images).numpy(),
    "as_batch of a tensor": lambda images: as_batch(torch.from_numpy(images)).numpy(),
    "load_dataset of an array": lambda images: load_dataset(images).images,
    "load_dataset of floats": lambda images: load_dataset(images / 255).images,
    "load_dataset of items": lambda images: load_dataset(list(images)).images,
    "batches of a batch": lambda images: next(batches([images], len(images))),
    "batches of items": lambda images: next(batches(images, len(images))),
}


def answer(entrance: str, images: np.ndarray) -> list[Any] | str:
    try:
        return ENTRANCES[entrance](images).tolist()
    except InputError:
        return "refused"


@settings(max_examples=60, deadline=None)
@given(shapes)
def test_all_entrances_give_the_same_images_or_refuse_them(shape: tuple[int, ...]) -> None:
    images = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    answers = {name: answer(name, images) for name in ENTRANCES}
    assert {name for name in answers if answers[name] != answers["as_batch"]} == set()
    first, last = shape[1] in CHANNELS, shape[3] in CHANNELS
    assert (answers["as_batch"] == "refused") == (not first and not last)


@pytest.mark.parametrize(
    ("shape", "image_shape", "expected"),
    [
        ((8, 3, 3, 1), None, (8, 1, 3, 3)),
        ((8, 3, 5, 1), None, (8, 3, 5, 1)),
        ((8, 3, 5, 3), None, (8, 3, 5, 3)),
        ((8, 4, 4, 4), None, (8, 4, 4, 4)),
        ((8, 6, 7, 4), None, (8, 4, 6, 7)),
        ((8, 3, 3, 1), (3, 3, 1), (8, 3, 3, 1)),
        ((8, 3, 5, 3), (3, 3, 5), (8, 3, 3, 5)),
        ((0, 6, 7, 3), None, (0, 3, 6, 7)),
    ],
)
def test_the_place_of_the_channels(shape: Any, image_shape: Any, expected: Any) -> None:
    assert channels_first(np.zeros(shape), image_shape).shape == expected


def test_batches_follow_the_shape_of_earlier_images() -> None:
    tall = np.zeros((2, 3, 5, 1), np.uint8)
    (batch,) = batches([np.zeros((1, 1, 3, 5), np.uint8), tall], 3)
    assert batch.shape == (3, 1, 3, 5)


def test_a_batch_is_a_contiguous_copy() -> None:
    images = np.zeros((2, 6, 7, 3), np.uint8)
    batch = as_batch(images[:, ::-1])
    assert batch.is_contiguous()
    batch.fill_(9)
    assert images.max() == 0


@pytest.mark.parametrize("shape", [(6, 7, 3), (2, 0, 7, 3), (2, 5, 6, 7)])
def test_shapes_that_are_not_images_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"mine.*got shape"):
        channels_first(np.zeros(shape), name="mine")


LABELS = {
    "a list": [0, 2, 1],
    "an array": np.array([0, 2, 1], np.uint8),
    "a tensor": torch.tensor([0, 2, 1]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_become_int64_copies(kind: str) -> None:
    labels = as_labels(LABELS[kind], 3)
    assert labels.dtype == torch.int64
    assert labels.tolist() == [0, 2, 1]
    labels.fill_(7)
    assert np.asarray(LABELS[kind]).tolist() == [0, 2, 1]


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ([0.0, 1.0], "integers, got float64"),
        ([True, False], "integers, got bool"),
        (["cat", "dog"], "integers, got list"),
        ([[0], [1]], r"shape \(2,\), one for each image, got \(2, 1\)"),
        ([0, 1, 2], r"got \(3,\)"),
        ([0, -1], "0 or more, got -1"),
    ],
)
def test_other_labels_are_refused(labels: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        check_labels(labels, 2, least=0)
    if says != r"got \(3,\)":  # a stream has no number of images to compare with
        with pytest.raises(InputError, match="labels must"):
            make_order("seq", labels)


def test_a_shape_is_resized_to_a_square() -> None:
    assert resized((3, 6, 8), None) == (3, 6, 8)
    assert resized((3, 6, 8), 4) == (3, 4, 4)
    for side in (0, 2.5, "4"):
        with pytest.raises(InputError, match="image_side must be"):
            resized((3, 6, 8), side)  # type: ignore[arg-type]
