"""Rings, novelty windows and snapshots, which several methods use."""

from __future__ import annotations

import math

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from scale.methods.core.novelty import Novelty
from scale.methods.core.ring import Ring
from scale.methods.core.snapshot import Snapshot


@given(size=st.integers(1, 7), pushes=st.lists(st.integers(0, 12), max_size=6))
def test_a_ring_holds_the_last_rows_in_order(size, pushes):
    ring, sequence = Ring(size, (2,)), []
    for n in pushes:
        new = [[float(len(sequence) + i), 0.5] for i in range(n)]
        ring.push(torch.tensor(new).view(n, 2))
        sequence += new
        assert ring.latest().tolist() == sequence[-size:]
        assert len(ring) == min(size, len(sequence))
    ring.clear()
    assert len(ring) == 0


def test_rows_of_a_ring_carry_no_gradient():
    ring = Ring(3)
    ring.push(torch.ones(2, requires_grad=True))
    assert not ring.latest().requires_grad


def test_novelty_needs_scores_and_time():
    novelty = Novelty(window=4, least=3, wait=2)
    assert novelty.above_mean(1.0) == novelty.quantile(0.5) == math.inf
    novelty.push(torch.tensor([9.0, 9.0, 1.0, 2.0, 3.0, 6.0]))  # the first two leave
    assert novelty.above_mean(0.0) == 3.0
    assert novelty.quantile(0.5) == 2.5
    assert not novelty.ready()
    novelty.pass_time(2)
    assert novelty.ready()
    novelty.start_again()
    assert not novelty.ready()


def test_a_snapshot_moves_only_when_it_is_taken():
    live = nn.Linear(2, 2)
    snapshot = Snapshot(live=live)
    assert not snapshot
    before = snapshot.live.weight.clone()
    with torch.no_grad():
        live.weight += 1
    assert torch.equal(snapshot.live.weight, before)
    snapshot.take()
    assert snapshot
    assert torch.equal(snapshot.live.weight, live.weight)
    assert not snapshot.train().live.training
