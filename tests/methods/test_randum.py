"""RanDumb-style random features: the kernel, the whitening."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.covariance import oas

from scale.methods import METHODS
from scale.methods.randum import shrunk

from .learners import fit, images, make
from .toys import left_or_right


def test_dot_products_approximate_the_kernel():
    learner = METHODS["randum"](features=4000, gamma=3.0)
    learner.start((1, 6, 6))
    batch = torch.from_numpy(images(4, shape=(1, 6, 6)))
    rows = learner.random_features(batch)
    pixels = batch.flatten(1).float() / 255
    gaps = (pixels[:, None] - pixels[None]).square().mean(2)
    torch.testing.assert_close((rows @ rows.T).float(), (-3.0 * gaps).exp(), atol=0.06, rtol=0)


def test_features_of_the_stream_are_white_up_to_the_shrinkage_and_have_length_1():
    learner = METHODS["randum"](features=5, gamma=50.0)
    stream = np.concatenate([images(200, seed, (1, 3, 3)) for seed in range(3)])
    for part in np.split(stream, 6):
        learner.partial_fit(part)
    rows = learner.random_features(torch.from_numpy(stream)) - learner.moments_.mean
    white = (rows @ learner.whitening()).numpy()
    np.testing.assert_allclose(white.mean(0), 0, atol=1e-10)
    np.testing.assert_allclose(np.cov(white.T, bias=True), np.eye(5), atol=0.1)
    z = learner.transform(stream)
    np.testing.assert_allclose(np.linalg.norm(z, axis=1), 1, rtol=1e-6)
    cosines = (white * z).sum(1) / np.linalg.norm(white, axis=1)
    np.testing.assert_allclose(cosines, 1, rtol=1e-6)


def test_the_shrinkage_is_the_oracle_approximation():
    rows = np.random.default_rng(0).normal(size=(12, 7)) * np.arange(1, 8)
    expected, _ = oas(rows - rows.mean(0), assume_centered=True)
    found = shrunk(torch.from_numpy(np.cov(rows.T, bias=True)), 12)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-10)
    same = shrunk(torch.zeros(3, 3, dtype=torch.float64), 5)  # images that are all equal
    assert float(torch.linalg.cholesky(same).diagonal().min()) > 0


def test_it_learns_moments_in_any_batches_and_separates_two_kinds():
    one, many = make("randum"), make("randum")
    stream = np.concatenate([left_or_right(100, False), left_or_right(100, True)])
    one.partial_fit(stream)
    for part in np.split(stream, [1, 2, 90]):
        many.partial_fit(part)
    np.testing.assert_allclose(one.transform(stream), many.transform(stream), rtol=1e-4, atol=1e-4)
    left, right = (one.transform(left_or_right(8, side, 9)) for side in (False, True))
    means = one.transform(stream).reshape(2, 100, -1).mean(1)  # of each kind
    for kind, rows in enumerate((left, right)):
        nearest = np.linalg.norm(rows[:, None] - means, axis=2).argmin(1)
        assert (nearest == kind).all()


def test_other_seeds_give_other_features_of_the_same_kind():
    a, b = (fit(make("randum", seed=seed), last=2).transform(images()) for seed in (0, 1))
    assert a.shape == b.shape
    assert not np.allclose(a, b)
