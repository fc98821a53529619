from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from scale._errors import InputError
from scale.data import ImageSet, list_datasets, load_dataset


@cache
def load(name: str, split: str) -> ImageSet:
    return load_dataset(name, split)


@pytest.mark.parametrize("name", ["digits", "digits8"])
def test_the_same_images_every_time_and_no_global_seed(name: str) -> None:
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = load_dataset(name, "test"), load(name, "test")
    assert np.array_equal(first.images, second.images)
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("name", ["digits", "digits8"])
def test_the_listed_counts_are_the_real_ones(name: str) -> None:
    listed = next(one for one in list_datasets() if one.name == name)
    assert listed.splits == {s: len(load(name, s)) for s in ("train", "test")}


def test_no_source_digit_is_in_both_splits_and_none_is_lost() -> None:
    train, test = load("digits8", "train"), load("digits8", "test")
    ours = np.concatenate([train.images, test.images]).reshape(1797, 64)
    from sklearn.datasets import load_digits

    theirs = np.rint(load_digits().data / 16 * 255).astype(np.uint8)
    assert np.array_equal(np.unique(ours, axis=0), np.unique(theirs, axis=0))
    shared = {row.tobytes() for row in train.images} & {row.tobytes() for row in test.images}
    assert not shared


@pytest.mark.parametrize("split", ["train", "test"])
def test_framed_digits_follow_their_sources(split: str) -> None:
    clean, framed = load("digits8", split), load("digits", split)
    copies = len(framed) // len(clean)
    assert framed.labels is not None
    assert np.array_equal(framed.labels, np.tile(clean.labels, copies))
    assert np.bincount(framed.labels).min() > 0.08 * len(framed)
    assert len(np.unique(framed.images.reshape(len(framed), -1), axis=0)) == len(framed)


def test_ink_is_brighter_than_paper_and_in_all_places() -> None:
    images = load("digits", "test").images[:, 0].astype(float)
    bright = images > np.median(images, axis=(1, 2), keepdims=True) + 40
    assert bright.any(axis=(1, 2)).all()
    assert bright.any(axis=0)[4:24, 4:24].all()


def test_digits_have_no_other_label_or_split() -> None:
    with pytest.raises(InputError, match="leave label out"):
        load_dataset("digits", label="parity")
    with pytest.raises(InputError, match="it has: test, train"):
        load_dataset("digits", "extra")
