"""Every registered method keeps the contract that `scale.testing` ships."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scale.methods import METHODS
from scale.testing import LEARNER_CHECKS

from .learners import small_params


@pytest.mark.parametrize("check", LEARNER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", list(METHODS))
def test_a_method_keeps_the_contract(name: str, check: Callable[..., None]) -> None:
    check(METHODS[name], **small_params(name))
