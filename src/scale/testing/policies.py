"""Checks of the contract of memory policies."""

from __future__ import annotations

import dataclasses
import zlib
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from scale.memory import Candidates, Policy
from scale.testing._tools import (
    differences,
    disturb_global_generators,
    global_random_state,
    listed,
    require,
)

LAWS: dict[str, Callable[[Tensor], Tensor]] = {
    "gaussian": lambda x: x,
    "non-negative": lambda x: x.clamp(min=0),
    "mostly copies": lambda x: (x > 0).float(),
    "identical": lambda x: torch.full_like(x, 0.3),
    "zero": torch.zeros_like,
    "half zero": lambda x: x * (torch.arange(len(x)) % 2)[:, None],
    "huge": lambda x: x * 1e15,
    "tiny": lambda x: x * 1e-30,
}
"""Kinds of features: each function makes them from (n, 4) standard normal numbers."""
SIZES = ((2, 1), (9, 1), (9, 4), (9, 8), (40, 11))
"""Numbers of candidates, and of candidates to keep."""


def check_policy(policy: type[Policy]) -> None:
    """Check that a memory policy keeps every rule of the contract.

    Raises
    ------
    AssertionError
        A rule is broken; the message says which, and what to do.
    """
    for check in POLICY_CHECKS:
        check(policy)


def check_selection(policy: type[Policy]) -> None:
    """A policy returns the indices of exactly `size` different candidates."""
    for law, candidates, size in _cases(policy):
        kept = policy()(candidates, size, torch.Generator().manual_seed(size))
        about = f"{policy.__name__}, {law} features, {size} of {len(candidates)}"
        require(
            isinstance(kept, Tensor) and kept.dtype == torch.int64 and kept.ndim == 1,
            f"{about}: it does not return a list of int64 indices",
        )
        indices = kept.tolist()
        require(
            all(0 <= index < len(candidates) for index in indices),
            f"{about}: it returns an index that is no candidate's",
        )
        require(len(set(indices)) == len(indices), f"{about}: it keeps a candidate twice")
        require(
            len(indices) == size,
            f"{about}: it keeps {len(indices)}; keep exactly `size` candidates",
        )


def check_choice_is_pure(policy: type[Policy]) -> None:
    """A choice depends only on the candidates and the generator, and changes no candidate."""
    for law, candidates, size in _cases(policy):
        about = f"{policy.__name__}, {law} features"
        before = _tensors(candidates)
        shared = global_random_state()
        first = policy()(candidates, size, torch.Generator().manual_seed(5))
        require(
            global_random_state() == shared,
            f"{about}: it draws from a global generator; use the one that is given",
        )
        disturb_global_generators()
        again = policy()(candidates, size, torch.Generator().manual_seed(5))
        require(
            torch.equal(first, again),
            f"{about}: two choices of one generator differ; draw from nothing else",
        )
        changed = differences(before, _tensors(candidates))
        require(not changed, f"{about}: it changes the candidates' {listed(changed)}; copy first")


POLICY_CHECKS: tuple[Callable[[type[Policy]], None], ...] = (check_selection, check_choice_is_pure)
"""The rules one by one: ``check(MyPolicy)``; `check_policy` runs all of them."""


def _cases(policy: type[Policy]) -> Iterator[tuple[str, Candidates, int]]:
    """Yield candidates of every kind, with the information that the policy declares."""
    laws = LAWS if policy.knows.features else {"no": LAWS["gaussian"]}
    for law, make in laws.items():
        for n, size in SIZES:
            generator = torch.Generator().manual_seed(zlib.crc32(f"{law} {n}".encode()))
            features = make(torch.randn(n, 4, generator=generator))
            labels = torch.randint(-2, 3, (n,), generator=generator)
            for clusters in (3, 30) if policy.knows.num_classes else (1,):
                candidates = Candidates(
                    stored=n // 2,
                    arrivals=torch.arange(100, 100 + n),
                    features=features if policy.knows.features else None,
                    labels=labels if policy.knows.labels else None,
                    clusters=clusters,
                )
                yield law, candidates, size


def _tensors(candidates: Candidates) -> dict[str, Tensor]:
    values = {f.name: getattr(candidates, f.name) for f in dataclasses.fields(candidates)}
    return {name: value.clone() for name, value in values.items() if isinstance(value, Tensor)}
