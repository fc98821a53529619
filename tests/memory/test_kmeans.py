from __future__ import annotations

import warnings

import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from scale.memory import POLICIES, Candidates
from scale.memory.kmeans import kmeans_clusters


def blobs(sizes: list[int], seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Points far apart from those of other groups, and their group."""
    generator = torch.Generator().manual_seed(seed)
    group = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    group = group[torch.randperm(len(group), generator=generator)]
    centres = 30 * torch.eye(len(sizes), 8)
    return centres[group] + torch.randn(len(group), 8, generator=generator), group


def choose(features: torch.Tensor, clusters: int, size: int, seed: int = 0) -> torch.Tensor:
    given = Candidates(0, torch.arange(len(features)), features, clusters=clusters)
    return POLICIES["kmeans"]()(given, size, torch.Generator().manual_seed(seed))


def test_it_says_that_it_knows_the_number_of_classes_and_no_labels():
    knows = POLICIES["kmeans"].knows
    assert (knows.features, knows.num_classes, knows.labels) == (True, True, False)


@pytest.mark.parametrize("seed", range(3))
def test_groups_that_are_apart_are_found(seed):
    features, group = blobs([40, 30], seed)
    found = kmeans_clusters(features, 2, torch.Generator().manual_seed(seed))
    assert adjusted_rand_score(group, found) == 1


@pytest.mark.parametrize("seed", range(3))
def test_each_cluster_has_an_equal_share_and_a_small_one_is_kept_whole(seed):
    features, group = blobs([60, 50, 4])
    # Three k-means++ seeds always fall into three groups as far apart as these.
    counts = group[choose(features, 3, 24, seed)].bincount()
    assert counts.tolist() == [10, 10, 4]


def test_of_a_cluster_a_random_part_stays_not_the_nearest_to_its_centre():
    features, _ = blobs([50])
    often = torch.zeros(50)
    for seed in range(60):
        often[choose(features, 1, 25, seed)] += 1
    assert often.min() > 60 * 0.5 - 4.5 * 15**0.5
    assert often.max() < 60 * 0.5 + 4.5 * 15**0.5


def test_the_seed_decides():
    features = torch.randn(80, 5, generator=torch.Generator().manual_seed(1))
    assert torch.equal(choose(features, 4, 30, seed=1), choose(features, 4, 30, seed=1))
    assert not torch.equal(choose(features, 4, 30, seed=1), choose(features, 4, 30, seed=2))
    draws = torch.Generator().manual_seed(1)
    first, second = (kmeans_clusters(features, 4, draws) for _ in range(2))
    assert not torch.equal(first, second), "each call draws its own start"


def test_more_clusters_than_points_or_than_distinct_points_are_no_trouble():
    generator = torch.Generator().manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(choose(torch.randn(6, 3, generator=generator), 50, 4)) == 4
        assert len(choose(torch.ones(20, 3), 5, 7)) == 7
