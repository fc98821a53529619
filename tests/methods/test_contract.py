"""Every registered method keeps the contract that `scale.testing` ships."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scale.methods import METHODS
from scale.testing import LEARNER_CHECKS

from .learners import FIRST, small_params

GATES = {"bad_images", "failed_start", "labels", "layouts", "sklearn_params"}
"""Checks of what `Learner` does for every method before the method's own code."""
PAIRS = [
    pytest.param(name, check, marks=() if name in FIRST else pytest.mark.slow)
    for name in METHODS
    for check in LEARNER_CHECKS
    if name in FIRST or check.__name__.removeprefix("check_") not in GATES
]


@pytest.mark.parametrize(
    ("name", "check"), PAIRS, ids=lambda value: getattr(value, "__name__", value)
)
def test_a_method_keeps_the_contract(name: str, check: Callable[..., None]) -> None:
    check(METHODS[name], **small_params(name))
