"""Every registered encoder keeps the contract that `scale.testing` ships."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from scale.models import ENCODERS
from scale.testing import ENCODER_CHECKS

SHAPES = ((3, 16, 16), (1, 12, 20))
"""Colour and grey, square and not, as small as they can be: the networks are large."""

MORE_LAYERS = {"resnet34"}
"""Networks of another one's blocks."""


@pytest.mark.parametrize("check", ENCODER_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in MORE_LAYERS else ())
        for name in ENCODERS
    ],
)
def test_an_encoder_keeps_the_contract(name: str, check: Callable[..., None]) -> None:
    check(name, SHAPES)
