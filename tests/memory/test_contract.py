"""What every registered policy promises."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from scale.memory import POLICIES, Candidates

CAN_KEEP_NONE = sorted(set(POLICIES) - {"psa"})  # which parts the candidates into one set or more
LAWS = {
    "gaussian": lambda n, d, g: torch.randn(n, d, generator=g),
    "relu": lambda n, d, g: torch.randn(n, d, generator=g).clamp_(min=0),
    "copies": lambda n, d, g: torch.randint(0, 2, (n, d), generator=g).float(),
    "identical": lambda n, d, g: torch.full((n, d), 0.3),
    "zero": lambda n, d, g: torch.zeros(n, d),
    "half zero": lambda n, d, g: torch.randn(n, d, generator=g) * (torch.arange(n) % 2)[:, None],
    "huge": lambda n, d, g: torch.randn(n, d, generator=g) * 1e15,
    "tiny": lambda n, d, g: torch.randn(n, d, generator=g) * 1e-30,
}


def candidates(policy: str, law: str, n: int, seed: int, clusters: int = 3) -> Candidates:
    """n candidates, with what the policy is told of them."""
    knows = POLICIES[policy].knows
    generator = torch.Generator().manual_seed(seed)
    features = LAWS[law](n, 4, generator)
    labels = torch.randint(-2, 3, (n,), generator=generator)
    return Candidates(
        stored=n // 2,
        arrivals=torch.arange(100, 100 + n),
        features=features if knows.features else None,
        labels=labels if knows.labels else None,
        clusters=clusters,
    )


def choose(policy: str, given: Candidates, size: int, seed: int = 0) -> torch.Tensor:
    return POLICIES[policy]()(given, size, torch.Generator().manual_seed(seed))


def assert_is_selection(kept: torch.Tensor, n: int, size: int) -> None:
    assert kept.dtype == torch.int64
    assert len(set(kept.tolist())) == len(kept) == size
    assert all(0 <= index < n for index in kept.tolist())


@pytest.mark.parametrize("policy", list(POLICIES))
@settings(max_examples=40)
@given(
    law=st.sampled_from(sorted(LAWS)),
    n=st.integers(2, 25),
    part=st.floats(0, 1),
    clusters=st.integers(1, 30),
    seed=st.integers(0, 10**6),
)
def test_exactly_as_many_different_candidates_stay_as_there_is_room_for(
    policy, law, n, part, clusters, seed
):
    size = 1 + int(part * (n - 2))
    kept = choose(policy, candidates(policy, law, n, seed, clusters), size, seed)
    assert_is_selection(kept, n, size)


@pytest.mark.parametrize("policy", CAN_KEEP_NONE)
@pytest.mark.parametrize("law", LAWS)
def test_there_may_be_room_for_none_or_for_one(policy, law):
    for size in (0, 1):
        assert_is_selection(choose(policy, candidates(policy, law, 9, 0), size), 9, size)


@pytest.mark.parametrize("policy", list(POLICIES))
@pytest.mark.parametrize("law", LAWS)
def test_a_choice_depends_on_the_generator_alone_and_changes_nothing(policy, law):
    given = candidates(policy, law, 40, 1)
    before = {
        field.name: value.clone()
        for field in dataclasses.fields(given)
        if isinstance(value := getattr(given, field.name), torch.Tensor)
    }
    shared = torch.get_rng_state()
    first = choose(policy, given, 11, seed=5)
    assert torch.equal(torch.get_rng_state(), shared)
    torch.rand(3)
    assert torch.equal(choose(policy, given, 11, seed=5), first)
    assert all(torch.equal(getattr(given, name), value) for name, value in before.items())
