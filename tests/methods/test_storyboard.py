"""Memory Storyboard: segments of time, the two memories, the temporal loss."""

from __future__ import annotations

import itertools

import pytest
import torch

from scale.losses import contrastive_loss, dot_products, label_positives
from scale.memory.storyboard import SEGMENT, StoryboardMemory, segment_starts

from .learners import differences, fit, make, state


def batch(n: int, first: int) -> torch.Tensor:
    numbers = torch.arange(first, first + n) % 256
    return numbers.to(torch.uint8).view(n, 1, 1, 1)


def value(similarity: torch.Tensor, starts: list[int]) -> float:
    ends = [*starts[1:], len(similarity)]
    return sum(
        float(similarity[a:b, a:b].sum()) / (b - a) for a, b in zip(starts, ends, strict=True)
    )


def test_one_change_point_is_the_best_of_all():
    z = torch.randn(9, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    similarity = z @ z.T
    best = max(range(1, 9), key=lambda t: value(similarity, [0, t]))
    assert segment_starts(similarity, 2).tolist() == [0, best]


def test_greedy_finds_clear_scenes():
    kind = torch.tensor([0] * 5 + [1] * 3 + [0] * 4 + [2] * 6)
    similarity = (kind[:, None] == kind).double()
    assert segment_starts(similarity, 4).tolist() == [0, 5, 8, 12]
    exhaustive = max(
        ([0, *points] for points in itertools.combinations(range(1, 18), 3)),
        key=lambda starts: value(similarity, starts),
    )
    assert segment_starts(similarity, 4).tolist() == exhaustive


def test_more_segments_than_images_gives_each_its_own():
    assert segment_starts(torch.eye(3), 9).tolist() == [0, 1, 2]
    assert segment_starts(torch.eye(1), 1).tolist() == [0]


def test_the_short_memory_is_the_last_images_and_the_long_one_a_sample_of_the_rest():
    memory = StoryboardMemory(12, 5, torch.Generator().manual_seed(0))
    first = 0
    for n in (3, 4, 1, 9, 30, 2):
        memory.update(batch(n, first))
        first += n
        assert memory.seen == first
        assert len(memory) == min(12, first)
        short = memory.arrivals[memory.long :]
        assert short.tolist() == list(range(max(0, first - 5), first))
        long = memory.arrivals[: memory.long]
        assert len(set(long.tolist())) == len(long)
        assert not len(long) or int(long.max()) < first - 5
        assert memory.images[:, 0, 0, 0].tolist() == memory.arrivals.tolist()


def test_the_long_memory_is_a_fair_sample():
    counts = torch.zeros(40)
    for seed in range(400):
        memory = StoryboardMemory(8, 2, torch.Generator().manual_seed(seed))
        for first in range(0, 42, 7):
            memory.update(batch(7, first))
        counts[memory.arrivals[: memory.long]] += 1
    expected = 400 * 6 / 40
    assert counts.sum() == 400 * 6
    assert ((counts - expected).abs() < 5 * expected**0.5).all()


def test_segments_are_named_by_their_first_image_and_keep_their_name_in_the_long_memory():
    memory = StoryboardMemory(20, 6, torch.Generator())
    memory.update(batch(6, 0))
    memory.name_segments(torch.tensor([0, 2]))
    assert memory.columns[SEGMENT].tolist() == [0, 0, 2, 2, 2, 2]
    memory.update(batch(3, 6))  # three leave
    memory.name_segments(torch.tensor([0, 4]))
    assert memory.columns[SEGMENT].tolist() == [0, 0, 2, 2, 2, 2, 2, 7, 7]


def test_half_of_the_replayed_images_are_recent():
    memory = StoryboardMemory(40, 20, torch.Generator())
    memory.update(batch(60, 0))
    drawn = memory.draw(10)
    assert len(set(drawn.tolist())) == 10
    assert int((drawn < memory.long).sum()) == 5


def test_without_the_temporal_loss_it_is_replay():
    learner = fit(make("storyboard", temporal=0.0), last=3)
    assert set(learner.diagnostics_) == {"loss", "frames", "segments"}


def test_images_of_one_segment_are_positives():
    learner = fit(make("storyboard", temporal=0.5), last=2)
    generator = torch.Generator().manual_seed(0)
    stream, memory = (torch.randn(n, 1, 28, 28, generator=generator) for n in (6, 8))
    segments = torch.tensor([4, 4, 9, 9])
    found = learner.losses(stream, memory, segments)
    h = learner.encoder_(torch.cat([stream, memory]))
    z = learner.heads_["segment_projector"](h[6:])
    positives = label_positives(torch.tensor([4, 4, 9, 9, 4, 4, 9, 9]))
    expected = contrastive_loss(dot_products(z), positives, learner.tau)
    torch.testing.assert_close(found["temporal"], expected)
    torch.testing.assert_close(found["loss"], found["frames"] + 0.5 * expected)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_one_memory_alone_works(share):
    learner = fit(make("storyboard", short_share=share), last=4)
    assert len(learner.memory_) == 20
    assert differences(state(learner), state(fit(make("storyboard", short_share=share)))) == []
