"""CLIMB: what its memory of centroids does, and that learning moves it."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from scale._errors import InputError
from scale.memory.centroids import CentroidMemory

from .learners import fit, images, learn, make


def memory(size: int = 100, seed: int = 0, **params) -> CentroidMemory:
    return CentroidMemory(size, torch.Generator().manual_seed(seed), **params)


def pictures(arrivals: range) -> torch.Tensor:
    """An image whose grey level says when it came."""
    return torch.tensor(list(arrivals), dtype=torch.uint8)[:, None, None, None].expand(-1, 1, 2, 2)


def around(*angles: float) -> torch.Tensor:
    """Unit vectors in the plane, by their angle in degrees."""
    radians = torch.deg2rad(torch.tensor(angles))
    return torch.stack([radians.cos(), radians.sin()], dim=1)


def take(held: CentroidMemory, *angles: float, threshold: float | None = None) -> None:
    """Let memory see a batch, after distances that were all at the threshold."""
    if threshold is not None:
        held.distances = torch.full((10,), threshold)
    held.update(pictures(range(held.seen, held.seen + len(angles))), around(*angles))


def angles_of(centroids: torch.Tensor) -> list[float]:
    return [round(float(a)) % 360 for a in torch.rad2deg(torch.atan2(*centroids.T.flip(0)))]


def groups(held: CentroidMemory) -> list[list[int]]:
    """The arrivals that each centroid holds."""
    return [sorted(held.arrivals[held.owner == i].tolist()) for i in range(len(held.centroids))]


def check(held: CentroidMemory) -> None:
    """What always holds."""
    count = torch.bincount(held.owner, minlength=len(held.centroids))
    assert len(held) <= held.size
    assert len(held.images) == len(held.arrivals) == len(held.owner)
    assert (held.images[:, 0, 0, 0] == held.arrivals.to(torch.uint8)).all()
    assert len(held.arrivals.unique()) == len(held)
    assert len(held.long) == len(held.joined) == len(held.centroids) == len(count)
    assert (count >= 1).all()
    assert (count <= held.each).all()
    assert int(held.long.sum()) <= held.long_most
    assert int((~held.long).sum()) <= held.short_most
    assert held.long[count == held.each].all()
    assert len(held.distances) <= held.window


def test_the_first_images_are_grouped_by_their_distances_to_each_other():
    held = memory(novelty=1.0)
    take(held, 0, 2, 4, 90, 92, 200, 201)
    assert groups(held) == [[0, 1], [2], [3, 4], [5, 6]]  # 4 is more than 2 degrees from 0
    check(held)


def test_an_image_is_new_when_farther_than_the_quantile_of_recent_distances():
    held = memory()
    take(held, 0)
    held.distances = torch.linspace(0, 0.2, 1000)  # its 95th percentile is 0.19
    take(held, 35)  # at 1 - cos(35) = 0.181
    assert groups(held) == [[0, 1]]
    held = memory()
    take(held, 0)
    held.distances = torch.linspace(0, 0.2, 1000)
    take(held, 37)  # at 0.201
    assert groups(held) == [[0], [1]]


def test_only_the_last_distances_count_and_not_those_of_the_batch_itself():
    held = memory(window=3)
    take(held, 0)
    held.distances = torch.tensor([0.9, 0.01, 0.01])
    take(held, 60)
    assert groups(held) == [[0, 1]]  # the threshold was below 0.9, the distance is 0.5
    torch.testing.assert_close(held.distances, torch.tensor([0.01, 0.01, 0.5]))


def test_images_new_to_memory_but_near_each_other_share_a_centroid():
    held = memory()
    take(held, 0)
    take(held, 90, 95, 0, 180, 100, 105, threshold=0.02)
    assert groups(held) == [[0, 3], [1, 2, 5], [4], [6]]


def test_a_short_term_centroid_follows_what_joins_it():
    held = memory(rate=0.1)
    take(held, 0)
    take(held, 90, 90, threshold=1.5)
    expected = 0.81 * around(0) + 0.19 * around(90)
    torch.testing.assert_close(held.centroids, expected)


def test_a_full_short_term_centroid_is_promoted_and_no_longer_moves():
    held = memory(each=3)
    take(held, 0)
    take(held, 10, threshold=0.2)
    assert held.long.tolist() == [False]
    take(held, 10)
    assert held.long.tolist() == [True]
    before = held.centroids.clone()
    take(held, 10, 10, 10)
    assert torch.equal(held.centroids, before)
    check(held)


def test_images_that_join_a_full_centroid_replace_others_every_second_time():
    entered = 0
    for seed in range(120):
        held = memory(seed=seed, each=4)
        take(held, 0, 0, 0, 0)
        take(held, 0)
        assert len(held) == 4
        entered += int(4 in held.arrivals.tolist())
    assert 40 < entered < 80


def test_short_term_centroids_that_nothing_joined_for_longest_leave():
    held = memory(size=100, short_share=0.03)  # three of them
    take(held, 0)
    take(held, 90, 180, threshold=0.01)
    take(held, 0, threshold=0.01)
    take(held, 270, threshold=0.01)
    assert angles_of(held.centroids) == [0, 180, 270]
    assert groups(held) == [[0, 3], [2], [4]]
    check(held)


def test_the_two_most_alike_long_term_centroids_merge():
    held = memory(size=20, each=2, short_share=0.1, long_share=0.3)  # three of two images
    take(held, 0)
    for angle in (0, 90, 90, 130, 130):
        take(held, angle, threshold=0.01)
    assert held.long.tolist() == [True, True, True]
    take(held, 240, 240, threshold=0.01)
    assert angles_of(held.centroids) == [0, 110, 240]
    assert groups(held)[0] == [0, 1]
    assert len(groups(held)[1]) == 2
    assert set(groups(held)[1]) <= {2, 3, 4, 5}
    check(held)


def test_too_many_images_leave_one_for_each_short_term_centroid():
    held = memory(size=10, each=6, short_share=0.3, long_share=0.6)
    take(held, 0)
    take(held, 0, 0, 0, 0, 90, 90, 90, 180, 180, threshold=0.01)
    assert groups(held) == [[0, 1, 2, 3, 4], [5, 6, 7], [8, 9]]
    take(held, 0)  # the first is full: six of a long-term centroid stay
    assert groups(held) == [[0, 1, 2, 3, 4, 10], [5], [8]]
    check(held)


def test_half_of_what_is_replayed_is_long_term_when_there_is_enough():
    held = memory(each=5)
    take(held, 0)
    take(held, *[0] * 4, *[90] * 4, *[180] * 4, threshold=0.01)
    assert held.long.tolist() == [True, False, False]
    for m, long in ((0, 0), (1, 0), (4, 2), (8, 4), (10, 5), (12, 5), (13, 5), (50, 5)):
        drawn = held.draw(m)
        assert len(drawn.unique()) == len(drawn) == min(m, 13)
        assert int(held.long[held.owner[drawn]].sum()) == long


def test_replayed_images_move_their_centroid_by_their_share_of_it():
    held = memory()
    take(held, 0)
    take(held, 0, 90, threshold=0.01)
    held.follow(torch.tensor([1]), around(40))
    torch.testing.assert_close(held.centroids[0], (0.75 * around(0) + 0.25 * around(40))[0])
    torch.testing.assert_close(held.centroids[1], around(90)[0])


@settings(deadline=None, max_examples=40)
@given(
    size=st.integers(2, 60),
    batches=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    each=st.integers(1, 12),
    seed=st.integers(0, 1000),
)
def test_memory_is_bounded_and_consistent_and_depends_on_its_generator_alone(
    size, batches, each, seed
):
    one, two = (memory(size=size, seed=seed, each=each, window=50) for _ in range(2))
    generator = torch.Generator().manual_seed(seed)
    for n in batches:
        z = torch.randn(n, 3, generator=generator)
        arrivals = range(one.seen, one.seen + n)
        for held in (one, two):
            held.update(pictures([a % 256 for a in arrivals]), z)
            held.follow(held.draw(5), z[:1].expand(min(5, len(held)), -1))
            check(held)
    for name, tensor in one.state_dict().items():
        assert torch.equal(tensor, two.state_dict()[name])
    assert one.seen == sum(batches)


def test_learning_looks_at_projections_of_the_batch_and_moves_centroids_by_replay():
    learner = learn(make("climb"), images())
    assert learner.memory_.centroids.shape[1] == learner.projection_dim
    before = learner.memory_.centroids.clone()
    fit(learner, 1, 2)
    assert not torch.equal(learner.memory_.centroids[: len(before)], before)
    assert {"contrastive", "alignment"} <= learner.diagnostics_.keys()


def test_what_memory_holds_is_told():
    assert make("climb").costs().memory == "20 images, a teacher, centroids"


def test_without_a_memory_and_with_the_least_it_learns():
    for size in (0, 2):
        learner = fit(make("climb", memory_size=size), last=3)
        assert len(learner.memory_) <= size


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"memory_size": 1}, "0 or at least 2"),
        ({"centroid_images": 0}, "centroid_images must be 1 or more, got 0"),
        ({"short_share": 0.5, "long_share": 0.5}, "together be below 1"),
        ({"novelty": 2.0}, "novelty must be from 0 to 1"),
    ],
)
def test_impossible_parameters_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        learn(make("climb", **given), images())
