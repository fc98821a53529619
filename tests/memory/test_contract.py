"""Every registered policy keeps the contract that `scale.testing` ships."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from scale.memory import POLICIES, Candidates
from scale.testing import POLICY_CHECKS


@pytest.mark.parametrize("check", POLICY_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", list(POLICIES))
def test_a_policy_keeps_the_contract(name: str, check: Callable[..., None]) -> None:
    check(POLICIES[name])


@pytest.mark.parametrize("name", list(POLICIES))
@settings(max_examples=12)
@given(
    n=st.integers(2, 25),
    part=st.floats(0, 1),
    copies=st.booleans(),
    clusters=st.integers(1, 30),
    seed=st.integers(0, 10**6),
)
def test_as_many_stay_as_there_is_room_for(
    name: str, n: int, part: float, copies: bool, clusters: int, seed: int
) -> None:
    size = 1 + int(part * (n - 2))
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(n, 4, generator=generator)
    labels = torch.randint(-2, 3, (n,), generator=generator)
    features = features.sign() if copies else features
    candidates = Candidates(n // 2, torch.arange(n), features, labels, clusters)
    kept = POLICIES[name]()(candidates, size, generator).tolist()
    assert len(set(kept)) == len(kept) == size
    assert all(0 <= index < n for index in kept)
