"""The floors: features that learn nothing, or next to nothing."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn import decomposition
from torch import nn

from scale._errors import InputError
from scale.augment import resize
from scale.methods import PCA, Learner, Pixels, Random, SimCLR
from scale.methods.dictionary.moments import Moments

from .learners import fit, images

FLOORS = (Pixels, PCA, Random)


def low_rank_images(n: int, rank: int, side: int = 8) -> np.ndarray:
    """Grey images that vary in `rank` directions, rounding apart; the first vary most."""
    rng = np.random.default_rng(0)
    directions = np.linalg.qr(rng.normal(size=(side * side, rank)))[0].T
    scales = np.geomspace(400, 100, rank)
    rows = 128 + (rng.uniform(-1, 1, (n, rank)) * scales) @ directions
    return rows.clip(0, 255).round().astype(np.uint8).reshape(n, 1, side, side)


def learned_in(batches: list[np.ndarray], **params: int) -> PCA:
    learner = PCA(**params)
    for batch in batches:
        learner.partial_fit(batch)
    return learner


def rows(pictures: np.ndarray) -> np.ndarray:
    return pictures.reshape(len(pictures), -1) / 255


def test_pixels_are_the_pixels():
    batch = images(5, shape=(3, 8, 8))
    np.testing.assert_array_equal(
        Pixels().transform(batch), (batch / np.float32(255)).reshape(5, -1)
    )


@pytest.mark.parametrize("floor", FLOORS)
def test_images_are_brought_to_the_side_that_is_asked_for(floor):
    batch = images(4, shape=(3, 16, 16))
    small = (resize(torch.from_numpy(batch), 8) * 255).round().to(torch.uint8)
    resized, given_small = (
        floor(**params).transform(pictures)
        for params, pictures in (({"image_side": 8}, batch), ({}, small))
    )
    assert resized.shape == given_small.shape
    assert np.abs(resized - given_small).max() < 0.1  # what rounding to uint8 leaves


@pytest.mark.parametrize("floor", FLOORS)
@pytest.mark.parametrize("side", [0, -3])
def test_a_side_that_no_image_has_is_refused(floor, side):
    with pytest.raises(InputError, match=f"image_side must be 1 or more.* got {side}"):
        floor(image_side=side).transform(images())


@pytest.mark.parametrize("encoder", ["cnn", "resnet18"])
def test_random_is_what_a_contrastive_learner_of_that_seed_starts_from(encoder):
    batch = images(6, shape=(3, 32, 32))
    random = fit_colour(Random(encoder=encoder, seed=5))
    start = SimCLR(encoder=encoder, seed=5)
    np.testing.assert_array_equal(random.transform(batch), start.transform(batch))
    assert not np.array_equal(
        random.transform(batch), SimCLR(encoder=encoder, seed=6).transform(batch)
    )


def test_random_with_images_made_smaller_is_that_start_too():
    batch = images(4, shape=(3, 64, 64))
    start = SimCLR(augmentation="tinyimagenet")
    np.testing.assert_array_equal(Random(image_side=32).transform(batch), start.transform(batch))


def test_random_takes_a_module_of_the_users_own_as_it_is():
    module = nn.Sequential(nn.AvgPool2d(14), nn.Flatten())
    features = Random(encoder=module).transform(images(3))
    expected = images(3).reshape(3, 2, 14, 2, 14).mean((2, 4)).reshape(3, 4) / 255
    np.testing.assert_allclose(features, (expected - 0.5) / 0.25, rtol=1e-4, atol=1e-5)


def test_random_has_no_option_that_does_nothing():
    assert {field.name for field in dataclasses.fields(Random)} == {
        *(field.name for field in dataclasses.fields(Learner)),
        "encoder",
        "encoder_side",
        "image_side",
    }


def test_components_of_data_of_known_rank_are_those_of_the_whole_stream():
    stream = low_rank_images(300, rank=5)
    learner = learned_in(np.array_split(stream, 30), components=12)
    exact = decomposition.PCA(5).fit(rows(stream))
    np.testing.assert_allclose(learner.mean_.numpy(), exact.mean_, atol=1e-7)
    np.testing.assert_allclose(
        learner.singular_values_[:5].numpy(), exact.singular_values_, rtol=1e-3
    )
    cosines = np.abs((learner.components_[:5].numpy() * exact.components_).sum(1))
    assert cosines.min() > 0.999


def test_components_are_exact_when_none_is_dropped():
    stream = images(200, shape=(1, 4, 4))
    learner = learned_in(np.array_split(stream, 23), components=64)
    exact = decomposition.PCA().fit(rows(stream))
    np.testing.assert_allclose(learner.singular_values_.numpy(), exact.singular_values_, rtol=1e-6)
    features, expected = learner.transform(stream[:9]), exact.transform(rows(stream[:9]))
    np.testing.assert_allclose(np.abs(features), np.abs(expected), atol=1e-4)


def test_components_are_those_of_scikit_learns_incremental_pca():
    stream = np.concatenate([low_rank_images(120, rank=20), images(120, shape=(1, 8, 8)) // 4])
    learner, theirs = PCA(components=10), decomposition.IncrementalPCA(10)
    for batch in np.array_split(stream, 8):
        learner.partial_fit(batch)
        theirs.partial_fit(rows(batch))
    np.testing.assert_allclose(learner.singular_values_.numpy(), theirs.singular_values_, rtol=1e-6)
    np.testing.assert_allclose(
        np.abs(learner.transform(stream)), np.abs(theirs.transform(rows(stream))), atol=1e-4
    )


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=8), seed=st.integers(0, 5))
def test_components_stay_orthonormal_whatever_the_sizes_of_batches(sizes, seed):
    batches = [images(n, seed=i, shape=(1, 4, 4)) for i, n in enumerate(sizes)]
    components = learned_in(batches, components=6, seed=seed).components_
    torch.testing.assert_close(components @ components.T, torch.eye(6, dtype=torch.float64))


def test_the_same_image_over_and_over_leaves_the_first_directions():
    learner = PCA(components=8)
    picture = images(1)
    before = learner.transform(images(5, seed=1))
    for _ in range(3):
        learner.partial_fit(picture)
    after = learner.transform(images(5, seed=1))
    assert np.linalg.matrix_rank(after) == np.linalg.matrix_rank(before) == 5


def test_components_have_a_fixed_sign():
    components = fit(PCA(components=8)).components_
    largest = components.abs().argmax(1, keepdim=True)
    assert (components.gather(1, largest) > 0).all()


def test_there_are_never_more_components_than_pixels():
    assert fit_small(PCA()).transform(images(5, shape=(1, 4, 4))).shape == (5, 16)


def test_no_components_are_refused():
    with pytest.raises(InputError, match="components must be 1 or more, got 0"):
        fit(PCA(components=0))


@given(
    sizes=st.lists(st.integers(1, 7), min_size=1, max_size=6),
    offset=st.sampled_from([0.0, 1e4]),
)
def test_moments_of_batches_are_those_of_all_rows(sizes, offset):
    drawn = np.random.default_rng(len(sizes)).normal(offset, 1, (sum(sizes), 3))
    moments = Moments(3)
    for batch in np.split(drawn, np.cumsum(sizes)[:-1]):
        moments.update(torch.from_numpy(batch))
    np.testing.assert_allclose(moments.mean.numpy(), drawn.mean(0))
    expected = np.cov(drawn.T, bias=True) if len(drawn) > 1 else np.zeros((3, 3))
    np.testing.assert_allclose(moments.covariance().numpy(), expected, atol=1e-8)


def fit_colour(learner: Learner) -> Learner:
    return learner.partial_fit(images(8, seed=1, shape=(3, 32, 32)))


def fit_small(learner: Learner) -> Learner:
    return learner.partial_fit(images(8, seed=1, shape=(1, 4, 4)))
