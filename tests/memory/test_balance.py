"""Equal shares, and the label policy, which is nothing else."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from scale.memory import POLICIES, Candidates
from scale.memory._balance import balanced

GROUPS = st.lists(st.sampled_from([-3, 0, 1, 7, 10**12]), min_size=1, max_size=40)


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def shares(sizes: list[int], room: int) -> list[int]:
    """Fill the smallest group first, each time with its equal share of the room that is left."""
    kept = [0] * len(sizes)
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    for place, group in enumerate(order):
        kept[group] = min(sizes[group], room // (len(sizes) - place))
        room -= kept[group]
    return kept


@given(groups=GROUPS, size=st.integers(0, 45), seed=st.integers(0, 10**6))
def test_shares_are_equal_except_for_groups_that_are_used_up(groups, size, seed):
    kept = balanced(torch.tensor(groups), size, generator(seed))
    assert kept.tolist() == sorted(set(kept.tolist()))
    assert len(kept) == min(size, len(groups))
    names = sorted(set(groups))
    counts = [sum(groups[i] == name for i in kept.tolist()) for name in names]
    sizes = [groups.count(name) for name in names]
    open_ = [count for count, all_ in zip(counts, sizes, strict=True) if count < all_]
    assert not open_ or max(counts) - min(open_) <= 1
    least = shares(sizes, min(size, len(groups)))
    assert all(abs(count - share) <= 1 for count, share in zip(counts, least, strict=True))


def test_within_a_group_each_member_stays_equally_often():
    groups = torch.tensor([0] * 6 + [1] * 12)
    counts = torch.zeros(18)
    rounds = 2000
    for seed in range(rounds):
        counts[balanced(groups, 6, generator(seed))] += 1
    p = torch.tensor([0.5] * 6 + [0.25] * 12)
    assert ((counts / rounds - p).abs() < 4.5 * (p * (1 - p) / rounds).sqrt()).all()


def test_groups_that_do_not_all_fit_stay_equally_often_whatever_their_size():
    groups = torch.tensor([0] * 20 + [1] * 2 + [2])
    counts = torch.zeros(3)
    rounds = 2000
    for seed in range(rounds):
        counts[groups[balanced(groups, 1, generator(seed))]] += 1
    assert ((counts / rounds - 1 / 3).abs() < 4.5 * (2 / 9 / rounds) ** 0.5).all()


def test_the_label_policy_is_balanced_along_a_class_ordered_stream():
    policy, draws = POLICIES["label"](), generator(0)
    stored = torch.empty(0, dtype=torch.int64)
    for start in range(0, 100, 10):
        labels = torch.cat([stored, torch.arange(start, start + 10) // 20])  # five classes
        if len(labels) > 24:
            given = Candidates(len(stored), torch.arange(len(labels)), None, labels)
            labels = labels[policy(given, 24, draws)]
        stored = labels
        counts = stored.bincount()
        if start >= 20 and start % 20:  # at the end of a class, when it has more than its share
            assert counts.max() - counts.min() <= 1
    assert sorted(stored.bincount().tolist()) == [4, 5, 5, 5, 5]
