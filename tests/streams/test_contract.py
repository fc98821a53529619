"""Every registered stream keeps the contract that `scale.testing` ships."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scale.streams import STREAMS
from scale.testing import STREAM_CHECKS


@pytest.mark.parametrize("check", STREAM_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", list(STREAMS))
def test_a_stream_keeps_the_contract(name: str, check: Callable[..., None]) -> None:
    check(name)
