"""Every registered method keeps the contract that `scale.testing` ships."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scale.methods import METHODS
from scale.testing import LEARNER_CHECKS

from .learners import small_params

CHECKS = [
    pytest.param(
        check,
        id=check.__name__,
        marks=[pytest.mark.xfail(strict=True, reason="set_params is not there yet")]
        if check.__name__ == "check_sklearn_params"
        else [],
    )
    for check in LEARNER_CHECKS
]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", list(METHODS))
def test_a_method_keeps_the_contract(name: str, check: Callable[..., None]) -> None:
    check(METHODS[name], **small_params(name))
