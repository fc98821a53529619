"""RanDumb-style random features: the kernel, the whitening."""

from __future__ import annotations

import numpy as np
import torch

from scale.methods import METHODS

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


def test_features_of_the_stream_are_white_up_to_the_ridge():
    learner = METHODS["randum"](features=5, ridge=1e-9, gamma=50.0)
    stream = np.concatenate([images(200, seed, (1, 3, 3)) for seed in range(3)])
    for part in np.split(stream, 6):
        learner.partial_fit(part)
    z = learner.transform(stream)
    np.testing.assert_allclose(z.mean(0), 0, atol=1e-4)
    np.testing.assert_allclose(np.cov(z.T, bias=True), np.eye(5), atol=1e-2)


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
