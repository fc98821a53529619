"""Patches clustered online."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import torch
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

from scale._errors import InputError
from scale.methods import Patches
from scale.methods.dictionary.windows import windows

from .learners import fit, images


@functools.cache
def photograph() -> np.ndarray:
    return load_sample_image("flower.jpg").transpose(2, 0, 1)


def photos(n: int, seed: int = 0, side: int = 16) -> np.ndarray:
    """Pieces of a photograph that comes with scikit-learn, n x 3 x side x side."""
    photo = photograph()
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, photo.shape[1] - side, n)
    columns = rng.integers(0, photo.shape[2] - side, n)
    corners = zip(rows, columns, strict=True)
    return np.stack([photo[:, r : r + side, c : c + side] for r, c in corners])


def learned(batches: int = 10, **params: object) -> Patches:
    learner = Patches(**{"clusters": 12, **params})  # type: ignore[arg-type]
    for seed in range(batches):
        learner.partial_fit(photos(32, seed))
    return learner


def patches_of(image: np.ndarray, side: int) -> np.ndarray:
    """All patches of an image, rows x columns x p, brought to mean 0 and variance 1."""
    slid = sliding_window_view(image / 255, (side, side), axis=(1, 2))  # (c, rows, columns, ...)
    patches = slid.transpose(1, 2, 0, 3, 4).reshape(*slid.shape[1:3], -1)
    patches = patches - patches.mean(-1, keepdims=True)
    return patches / np.sqrt(patches.var(-1, keepdims=True) + 10 / 255**2)


def whitening(learner: Patches) -> np.ndarray:
    values, axes = np.linalg.eigh(learner.dictionary_.moments.covariance().numpy())
    return axes @ np.diag(1 / np.sqrt(values + learner.epsilon)) @ axes.T


def slow_features(learner: Patches, image: np.ndarray, thin: bool = False) -> np.ndarray:
    """The formula of Coates, Lee and Ng, patch by patch, in float64; thin, of every second one."""
    white = whitening(learner)
    centroids = learner.dictionary_.centroids.numpy() @ white
    patches = patches_of(image, learner.patch_side)
    active = np.zeros((*patches.shape[:2], len(centroids)))
    for row, column in np.ndindex(*patches.shape[:2]):
        z = np.linalg.norm(patches[row, column] @ white - centroids, axis=1)
        active[row, column] = np.maximum(0, z.mean() - z)
    if thin:
        active[1::2, ::2] = active[::2, 1::2] = np.nan
    halves = [(half + 1) // 2 for half in active.shape[:2]]
    quadrants = [
        np.nanmean(part, (0, 1))
        for band in np.split(active, [halves[0]], axis=0)
        for part in np.split(band, [halves[1]], axis=1)
    ]
    return np.concatenate(quadrants)


@pytest.mark.parametrize("side", [12, 13, 11])
def test_thin_features_are_those_of_every_second_patch_unless_there_are_few(side):
    learner = Patches(clusters=7, patch_side=5, normalise=False)
    learner.partial_fit(photos(20, side=side))
    learner.dictionary_.thin = True
    shown = photos(3, seed=1, side=side)
    expected = np.stack([slow_features(learner, image, thin=side > 11) for image in shown])
    np.testing.assert_allclose(learner.transform(shown), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("side", [16, 17])
def test_features_are_those_of_the_formula(side):
    learner = Patches(clusters=7, patch_side=5, normalise=False)
    learner.partial_fit(photos(20, side=side))
    shown = photos(3, seed=1, side=side)
    expected = np.stack([slow_features(learner, image) for image in shown])
    np.testing.assert_allclose(learner.transform(shown), expected, rtol=1e-4, atol=1e-4)


def test_normalised_features_are_whitened_by_the_sample_and_have_length_one():
    learner = learned(memory_size=100)
    learner.normalise = False
    sample = learner.transform(learner.memory_.images).astype(np.float64)
    plain = learner.transform(photos(50, seed=99)).astype(np.float64)
    learner.normalise = True
    covariance = np.cov(sample.T, bias=True)
    covariance += 0.1 * covariance.diagonal().mean() * np.eye(len(covariance))
    centred = plain - sample.mean(0)
    squares = centred @ np.linalg.inv(covariance) @ centred.T
    lengths = np.sqrt(squares.diagonal())
    features = learner.transform(photos(50, seed=99))
    np.testing.assert_allclose(np.linalg.norm(features, axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(
        features @ features.T, squares / lengths / lengths[:, None], atol=1e-3
    )


def test_the_sample_is_of_the_whole_stream_and_bounded():
    learner = learned(memory_size=60)
    assert len(learner.memory_) == 60
    assert learner.memory_.seen == 320
    halves = np.histogram(learner.memory_.arrivals, [0, 160, 320])[0]
    assert halves.min() > 15


def test_without_a_sample_features_only_have_length_one():
    learner, plain = learned(batches=2, memory_size=0), learned(batches=2, normalise=False)
    shown = plain.transform(photos(5))
    lengths = np.linalg.norm(shown, axis=1, keepdims=True)
    np.testing.assert_allclose(learner.transform(photos(5)), shown / lengths, rtol=1e-5)


def test_whitening_follows_the_patches_of_the_stream():
    learner = learned(epsilon=1e-9)
    white = whitening(learner)
    white_covariance = white @ learner.dictionary_.moments.covariance().numpy() @ white
    values = np.linalg.eigvalsh(white_covariance)
    # All directions but one: patches have mean 0.
    np.testing.assert_allclose(values[1:], 1, atol=0.01)
    assert values[0] < 0.01


def test_one_pass_comes_near_to_what_kmeans_finds_in_many():
    learner = learned(batches=20)
    white = whitening(learner)

    def whitened(pictures: np.ndarray) -> np.ndarray:
        patches = np.stack([patches_of(image, 6) for image in pictures])
        return patches[:, ::3, ::4].reshape(-1, 108) @ white

    rows = whitened(photos(60, seed=999))

    def error(centroids: np.ndarray) -> float:
        squares = ((rows[:, None] - centroids[None]) ** 2).sum(2)
        return float(squares.min(1).mean())

    stream = np.concatenate([photos(32, seed) for seed in range(20)])
    theirs = KMeans(12, n_init=1, random_state=0).fit(whitened(stream))
    ours = learner.dictionary_.centroids.numpy() @ white
    assert error(ours) < 1.1 * error(theirs.cluster_centers_)


def test_each_centroid_is_the_mean_of_the_patches_it_won():
    """Whitening changes with every batch; a centroid that wins all patches is still their mean."""
    learner = learned(batches=5, clusters=1)
    dictionary = learner.dictionary_
    assert dictionary.counts.item() == dictionary.moments.count.item() == 5 * 32 * 16
    torch.testing.assert_close(dictionary.centroids[0], dictionary.moments.mean)


def test_centroids_that_win_nothing_are_put_where_patches_are():
    learner = learned()
    learner.dictionary_.centroids[3] = 1e6
    learner.dictionary_.counts[3] = 0
    learner.partial_fit(photos(32, seed=77))
    assert learner.dictionary_.centroids[3].abs().max() < 20
    assert learner.dictionary_.counts[3] > 0
    assert learner.diagnostics_["reseeded"] >= 1


def test_centroids_of_a_phase_outlive_a_phase_that_is_much_longer():
    rng = np.random.default_rng(0)

    def stripes(count: int) -> np.ndarray:
        waves = np.sin(
            rng.uniform(0.5, 2.5, (count, 1)) * np.arange(16) + rng.uniform(0, 6, (count, 1))
        )
        rows = 128 + 100 * waves[:, None, None, :] + rng.normal(0, 5, (count, 1, 16, 16))
        return rows.clip(0, 255).astype(np.uint8)

    learner = Patches(clusters=20)
    for _ in range(20):
        learner.partial_fit(stripes(64))
    learner.partial_fit(stripes(64))
    of_phase = learner.diagnostics_["distance"]
    assert learner.dictionary_.counts.min() > 100
    for _ in range(300):
        learner.partial_fit(stripes(64).swapaxes(2, 3))
        assert learner.diagnostics_["reseeded"] == 0
    learner.partial_fit(stripes(64))
    assert learner.diagnostics_["distance"] < 3 * of_phase


def test_a_mostly_empty_stream_keeps_centroids_for_the_rest():
    """Nearly all patches are black, as in images of digits; the others must not look dead."""
    learner = Patches(clusters=12)
    for seed in range(20):
        sparse = np.zeros((32, 1, 32, 32), np.uint8)
        sparse[:, :, 12:20, 12:20] = images(32, seed, shape=(1, 8, 8))
        learner.partial_fit(sparse)
    assert learner.diagnostics_["reseeded"] <= 2
    assert (learner.dictionary_.centroids.abs().sum(1) > 1).sum() >= 8


def test_flat_images_have_features():
    learner = fit(Patches(clusters=8))
    flat = np.full((2, 1, 28, 28), 255, np.uint8)
    assert np.isfinite(learner.transform(flat)).all()
    assert np.isfinite(Patches(clusters=8).partial_fit(flat).transform(flat)).all()


def test_images_are_brought_to_the_side_that_is_asked_for():
    learner = Patches(clusters=5, image_side=8).partial_fit(photos(4))
    assert learner.transform(photos(2)).shape == (2, 20)
    assert learner.transform(photos(2)).dtype == np.float32


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"clusters": 0}, "clusters must be 1 or more, got 0"),
        ({"patch_side": 0}, "patch_side must be 1 or more, got 0"),
        ({"patches_per_image": -1}, "patches_per_image must be 1 or more, got -1"),
        ({"epsilon": 0.0}, "epsilon must be above 0"),
        ({"patch_side": 28}, "28 x 28, too small for patches of side 28; lower patch_side"),
        ({"image_side": 4}, "4 x 4, too small"),
    ],
)
def test_parameters_that_cannot_be_are_refused(params, message):
    with pytest.raises(InputError, match=message):
        fit(Patches(**params))


def test_windows_are_the_patches_by_row_and_column():
    picture = torch.arange(2 * 3 * 7 * 5).view(2, 3, 7, 5)
    slid = windows(picture, side=3, stride=2)
    assert slid.shape == (2, 3, 2, 3, 3, 3)
    assert torch.equal(slid[1, 2, 1], picture[1, :, 4:7, 2:5])
