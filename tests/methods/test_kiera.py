"""KIERA: centroids against a plain loop, growing layers, drift, and what is replayed."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from scale.methods.growing.centroids import Centroids
from scale.methods.growing.drift import drifts
from scale.methods.growing.layer import GrowingLayer, Running

from .learners import fit, images, learn, make
from .toys import left_or_right


def rows(n: int, seed: int, centre: float = 0.0, dim: int = 3) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return centre + torch.randn(n, dim, generator=generator)


def slow_centroids(codes: list[np.ndarray]) -> tuple[list[np.ndarray], list[int]]:
    """The rule, one code at a time, with all distances kept; which codes open a centroid."""
    points, taken, distances = [codes[0].copy()], [1], [[]]
    opened = []
    support0 = [1]  # the first code itself, at no distance
    for i, h in enumerate(codes):
        gaps = [float(np.linalg.norm(h - c)) for c in points]
        w = int(np.argmin(gaps))
        taken[w] += 1
        points[w] = points[w] + (h - points[w]) / taken[w]
        distances[w].append(gaps[w])
        # A centroid begins with support 1 at distance 0.
        all_of_it = [0.0] * support0[w] + distances[w]
        mean, std = float(np.mean(all_of_it)), float(np.std(all_of_it))
        if gaps[w] > mean + (2 * math.exp(-gaps[w]) + 2) * std:
            points.append(h.copy())
            taken.append(1)
            distances.append([])
            support0.append(1)
            opened.append(i)
    return points, opened


def test_one_code_at_a_time_equals_a_plain_loop():
    codes = torch.cat([rows(30, 0), rows(30, 1, centre=9.0), rows(5, 2, centre=-20.0)]).double()
    centroids = Centroids(50, 3).double()
    centroids.start(codes[:1])
    opened = centroids.learn(codes, chunk=1)
    points, expected = slow_centroids(list(codes.numpy()))
    assert opened.nonzero()[:, 0].tolist() == expected
    assert len(expected) >= 2
    np.testing.assert_allclose(centroids.points[: len(centroids)].numpy(), np.stack(points))


def test_codes_of_two_far_clusters_go_to_centroids_of_their_own():
    centroids = Centroids(20, 3)
    centroids.start(rows(3, 0))
    centroids.learn(torch.cat([rows(40, 1), rows(40, 2, centre=30.0)]), chunk=8)
    near = set(centroids.nearest(rows(20, 3))[1].tolist())
    far = set(centroids.nearest(rows(20, 4, centre=30.0))[1].tolist())
    assert not near & far


@pytest.mark.parametrize("chunk", [1, 16, 64])
def test_a_far_cluster_opens_one_centroid_and_a_single_cluster_none(chunk):
    generator = torch.Generator().manual_seed(0)
    centroids = Centroids(20, 3)
    near = torch.rand(200, 3, generator=generator)
    centroids.start(near[:1])
    assert not centroids.learn(near, chunk=chunk).any()
    opened = centroids.learn(10 + torch.rand(200, 3, generator=generator), chunk=chunk)
    assert opened.nonzero()[:, 0].tolist() == [0]
    assert len(centroids) == 2
    assert centroids.support.sum() == 402  # both first rows count twice: as start and as row
    assert float(centroids.points[1].min()) > 10


def test_one_repeated_code_is_one_centroid_at_no_distance():
    centroids, same = Centroids(20, 3), torch.ones(40, 3)
    centroids.start(same[:10])
    assert not centroids.learn(same, chunk=4).any()
    assert len(centroids) == 1
    assert float(centroids.nearest(same)[0].max()) == pytest.approx(0, abs=1e-6)


def test_replayed_codes_never_open_a_centroid():
    centroids = Centroids(20, 3)
    centroids.start(rows(2, 0))
    centroids.learn(rows(30, 1))
    before = len(centroids)
    centroids.learn(rows(10, 2, centre=50.0), opens=False)
    assert len(centroids) == before


def test_a_full_set_replaces_its_weakest_centroid():
    centroids = Centroids(2, 3)
    centroids.start(torch.stack([torch.zeros(3), torch.full((3,), 5.0)]))
    centroids.learn(rows(30, 0) / 10)  # the second stays with support 1
    centroids._open(torch.full((3,), 99.0))
    assert len(centroids) == 2
    assert centroids.points[1].tolist() == [99.0] * 3


def test_weak_centroids_move_next_to_strong_ones():
    centroids = Centroids(3, 2)
    centroids.start(torch.tensor([[0.0, 0.0], [5.0, 5.0]]))
    centroids.support[1] = 51
    centroids.settle(torch.Generator())
    torch.testing.assert_close(centroids.points[0], centroids.points[1] + 0.007)


def test_running_values_are_those_of_all_numbers():
    running, values = Running(), [3.0, 1.0, 4.0, 1.0, 5.0]
    for value in values:
        running.add(value)
    assert float(running.mean) == pytest.approx(np.mean(values))
    assert float(running.std()) == pytest.approx(np.std(values))
    assert float(running.least_std) == 0
    assert float(running.least_mean) == 2  # after the second


def layer(units: int = 4) -> GrowingLayer:
    torch.manual_seed(0)
    return GrowingLayer(5, 8, units, 1)


def test_a_new_unit_leaves_old_codes_unchanged_and_a_pruned_one_is_gone():
    grown, x = layer(), rows(6, 0, dim=5)
    before = grown.encode(x)
    grown.grow(torch.Generator().manual_seed(1))
    after = grown.encode(x)
    assert torch.equal(before[:, :4], after[:, :4])
    assert after[:, 4].any()
    grown.observe(x)
    unit = grown.prune()
    assert not grown.encode(x)[:, unit].any()
    assert int(grown.active.sum()) == 4


def test_a_layer_grows_to_its_limit_and_not_beyond():
    grown = layer()
    for _ in range(9):
        grown.grow(torch.Generator())
    assert int(grown.active.sum()) == 8


def test_a_rising_error_grows_a_unit():
    grown = layer()
    for _ in range(5):
        grown.observe(torch.zeros(4, 5))
        grown.change(1, torch.Generator())
    assert int(grown.active.sum()) == 4
    for _ in range(5):
        grown.observe(torch.full((4, 5), 9.0))
        grown.change(1, torch.Generator())
    assert int(grown.active.sum()) > 4


def test_pruning_removes_the_coordinate_from_every_centroid():
    centroids = Centroids(4, 3)
    centroids.start(rows(4, 0))
    centroids.forget(1)
    assert not centroids.points[:, 1].any()
    assert centroids.points[:, 0].any()


def test_equal_batches_do_not_drift_and_shifted_ones_do():
    a = rows(200, 0, dim=4)
    assert not drifts(a, a)
    assert not drifts(torch.empty(0, 4), a)
    assert not drifts(torch.ones(5, 4), torch.ones(5, 4))
    assert drifts(a + 10, a)
    assert not drifts(a, a + 10)  # as in the released code


def test_drift_is_measured_in_each_feature():
    a = rows(200, 0, dim=4)
    opposite = torch.tensor([10.0, -10.0, 0.0, 0.0])  # the mean over features stays
    assert drifts(a + opposite, a)


def test_the_batch_after_a_drift_adds_no_layer():
    learner, dark = make("kiera"), np.zeros((60, 1, 16, 16), np.uint8)
    batches = (dark, 255 - dark, dark, dark, 255 - dark)
    grown = [learn(learner, batch).diagnostics_["layers"] for batch in batches]
    assert grown == [1, 2, 2, 2, 3]


def test_units_grow_and_leave_by_the_last_error_and_variance():
    grown = layer()
    for value in (5.0, 1.0, 3.0):
        grown.bias_error.add(value)
        grown.variance.add(2 * value)
    assert grown._tolerance(grown.bias_error) == pytest.approx(1.3 * math.exp(-3.0) + 0.7)
    assert grown._tolerance(grown.variance) == pytest.approx(1.3 * math.exp(-6.0) + 0.7)
    third = GrowingLayer(5, 8, 4, 3)
    third.bias_error.add(0.0)
    assert third._tolerance(third.bias_error) == pytest.approx(2 * (math.log(3) + 1))


def test_the_least_variance_counts_from_the_twentieth_observation():
    grown = layer()
    for i in range(20):
        grown.observe(torch.full((2, 5), float(i)))
        if i < 19:
            assert grown.variance.least_mean == grown.variance.mean
    assert grown.variance.least_mean <= grown.variance.mean


def test_without_centroids_weight_it_is_a_plain_stack():
    learner = fit(make("kiera", clusters_weight=0.0), last=2)
    x = torch.rand(6, learner.conv_.output_dim, generator=torch.Generator().manual_seed(0))
    own = learner.layer(0)
    expected = torch.nn.functional.mse_loss(own.decode(own.encode(x)), x)
    torch.testing.assert_close(learner.layer_loss(0, x), expected)
    pulled = fit(make("kiera", clusters_weight=1.0), last=2)
    assert len(pulled.centroids(0)) > 0


def test_one_repeated_image_opens_no_centroid_unit_or_layer():
    learner, same = make("kiera"), np.repeat(images(1), 12, axis=0)
    for _ in range(4):
        learn(learner, same)
    grown = {name: learner.diagnostics_[name] for name in ("layers", "units", "centroids")}
    assert grown == {"layers": 1, "units": 24, "centroids": 1}
    assert len(learner.memory_) == 0


def test_images_that_open_centroids_are_offered_to_memory():
    learner = make("kiera", memory_size=500, chunk=1)
    opened = 0
    for seed in range(4):
        before = len(learner.centroids(0)) if seed else 0
        learn(learner, images(seed=seed))
        opened += len(learner.centroids(0)) - (before or 10)
    assert learner.diagnostics_["layers"] == 1
    assert len(learner.memory_) == opened


def test_growth_has_limits_and_features_a_fixed_size():
    learner = fit(make("kiera", max_width=12, max_layers=2, max_centroids=11, chunk=1), last=4)
    assert learner.transform(images()).shape == (12, 24)
    assert learner.diagnostics_["units"] <= 24
    assert learner.diagnostics_["centroids"] <= 22


def test_two_kinds_in_sequence_open_a_centroid_that_separates_them_and_one_kind_does_not():
    learner = make("kiera", steps_per_batch=10, lr=0.03, chunk=4)
    for seed in range(6):
        learn(learner, left_or_right(16, False, seed))
    assert learner.diagnostics_["centroids"] == 10  # the codes that it begins with
    assert len(learner.memory_) == 0
    for seed in range(6):
        learn(learner, left_or_right(16, True, seed))
    assert learner.diagnostics_["centroids"] > 10
    assert len(learner.memory_) > 0

    def centroids(right):
        x = torch.from_numpy(left_or_right(32, right, 99)).float() / 255
        codes = learner.layer(0).encode(learner.conv_.encode(x))
        return set(learner.centroids(0).nearest(codes)[1].tolist())

    assert not centroids(False) & centroids(True)
