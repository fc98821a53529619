"""What a method says to parameters that it cannot learn with."""

from __future__ import annotations

import dataclasses
import math
import typing

import pytest

from scale._errors import InputError, UnknownNameError
from scale.methods import METHODS

from .learners import images, learn, make


def numbers(name: str) -> dict[str, type]:
    """Return the parameters of a method that are numbers, or may be, and their type."""
    hints = typing.get_type_hints(METHODS[name])
    return {
        field.name: kind
        for field in dataclasses.fields(METHODS[name])
        for kind in (int, float)
        if hints[field.name] in (kind, kind | None)
    }


@pytest.mark.parametrize("name", list(METHODS))
def test_every_number_of_a_method_is_checked(name):
    for parameter, kind in numbers(name).items():
        for value in (math.nan, -1, "3"):
            with pytest.raises(InputError, match=rf"{parameter}\b.* must .*got '?{value}"):
                make(name, **{parameter: value}).start((1, 28, 28))
        if kind is int:
            with pytest.raises(InputError, match=f"{parameter} must be a whole number, got 2.5"):
                make(name, **{parameter: 2.5}).start((1, 28, 28))


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_number_that_is_not_finite_is_refused(value):
    with pytest.raises(InputError, match=rf"lr must be 0 or more, got {value}"):
        make("scale", lr=value).start((1, 28, 28))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"momentum": 1.5}, "momentum must be from 0 to 1, got 1.5"),
        ({"projection_dim": 0}, "projection_dim must be 1 or more, got 0"),
        ({"kappa_past": 0}, "kappa_past must be above 0, got 0"),
        ({"tau": 0.0}, "tau must be above 0, got 0"),
        ({"seed": 2**32}, "seed must be from 0 to 4294967295, got 4294967296"),
        ({"seed": -1}, "seed must be from 0"),
    ],
)
def test_the_range_is_told(given, message):
    with pytest.raises(InputError, match=message):
        learn(make("scale", **given), images())


def test_a_learning_rate_of_zero_is_allowed():
    learner = make("scale", lr=0.0, weight_decay=0.0, momentum=0.0, lam=0.0, mu=0.0)
    assert learn(learner, images()).transform(images()).shape == (12, 128)


@pytest.mark.parametrize("parameter", ["memory_policy", "augmentation"])
@pytest.mark.parametrize("value", [None, 3, ["psa"]])
def test_a_name_that_is_no_text_is_unknown(parameter, value):
    with pytest.raises(UnknownNameError, match=r"is called .*known: "):
        learn(make("scale", **{parameter: value}), images())
