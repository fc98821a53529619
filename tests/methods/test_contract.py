"""Every registered method keeps the contract that `scale.testing` ships."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scale.methods import METHODS
from scale.testing import LEARNER_CHECKS

from .learners import small_params

FIRST = {"scale", "scale-plus", "er", "supcon", "stam", "pnn", "patches", "pixels"}
"""Methods of every kind: with and without an encoder, a memory, labels, growth. CI checks all."""


@pytest.mark.parametrize("check", LEARNER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in FIRST else pytest.mark.slow) for name in METHODS],
)
def test_a_method_keeps_the_contract(name: str, check: Callable[..., None]) -> None:
    check(METHODS[name], **small_params(name))
