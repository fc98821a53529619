from __future__ import annotations

import pytest
import torch

from scale.memory import POLICIES, Candidates


def choose(policy: str, stored: int, arrivals: list[int], size: int, seed: int = 0) -> list[int]:
    """Positions in the stream of what stays."""
    candidates = Candidates(stored, torch.tensor(arrivals), None)
    kept = POLICIES[policy]()(candidates, size, torch.Generator().manual_seed(seed))
    return candidates.arrivals[kept].tolist()


def stream(policy: str, length: int, batch: int, size: int, seed: int) -> list[int]:
    """Positions in the stream of what is in memory after a stream."""
    generator = torch.Generator().manual_seed(seed)
    stored: list[int] = []
    chosen = POLICIES[policy]()
    for start in range(0, length, batch):
        arrivals = torch.tensor([*stored, *range(start, min(start + batch, length))])
        if len(arrivals) > size:
            arrivals = arrivals[chosen(Candidates(len(stored), arrivals, None), size, generator)]
        stored = arrivals.tolist()
    return stored


def inclusions(policy: str, length: int, batch: int, size: int, streams: int) -> torch.Tensor:
    """How often each image of the stream is in memory at its end, over seeded streams."""
    counts = torch.zeros(length)
    for seed in range(streams):
        kept = stream(policy, length, batch, size, seed)
        assert len(kept) == len(set(kept)) == size
        counts[kept] += 1
    return counts


@pytest.mark.parametrize(("batch", "streams"), [(1, 250), (7, 800), (25, 1500)])
def test_reservoir_keeps_every_image_of_the_stream_with_the_same_probability(batch, streams):
    length, size = 60, 12
    p = size / length
    counts = inclusions("reservoir", length, batch, size, streams)
    z = (counts - streams * p) / (streams * p * (1 - p)) ** 0.5
    assert z.abs().max() < 4.5  # of 60 normal values: once in 2500 draws
    # Chi-square with 59 degrees of freedom, scaled for sampling without replacement.
    assert z.square().sum() * (length - 1) / length < 120


def test_reservoir_leaves_a_stored_image_at_its_place():
    arrivals = [*range(10), 10**9]  # so late that it hardly ever enters
    assert choose("reservoir", 10, arrivals, 10) == list(range(10))


def test_reservoir_draws_depend_on_the_seed_alone():
    assert stream("reservoir", 60, 7, 12, seed=3) == stream("reservoir", 60, 7, 12, seed=3)
    assert stream("reservoir", 60, 7, 12, seed=3) != stream("reservoir", 60, 7, 12, seed=4)


def test_fifo_keeps_what_came_last():
    assert choose("fifo", 4, [3, 4, 5, 6, 7, 8], 4) == [5, 6, 7, 8]
    assert stream("fifo", 53, 10, 12, seed=0) == list(range(41, 53))


def test_random_keeps_each_candidate_with_the_same_probability():
    streams, size, candidates = 2000, 5, 20
    counts = torch.zeros(candidates)
    for seed in range(streams):
        kept = choose("random", 10, list(range(candidates)), size, seed)
        assert len(set(kept)) == size
        counts[kept] += 1
    p = size / candidates
    assert ((counts / streams - p).abs() < 4.5 * (p * (1 - p) / streams) ** 0.5).all()


def test_random_forgets_the_distant_past():
    counts = inclusions("random", 60, 6, 12, streams=300)
    first, last = counts[:12].mean(), counts[-12:].mean()
    assert first < last / 4
