"""What a method says to parameters that it cannot learn with."""

from __future__ import annotations

import dataclasses
import math
import typing
from typing import Any, Literal

import pytest

from scale._errors import InputError, UnknownNameError
from scale.methods import METHODS
from scale.methods.core.checks import hints_of

from .learners import images, learn, make


def fields(name: str) -> dict[str, Any]:
    """Return the parameters of a method, and their types without None and ranges."""
    hints = typing.get_type_hints(METHODS[name])
    return {
        field.name: next(
            (kind for kind in (int, float, bool) if hints[field.name] in (kind, kind | None)),
            hints[field.name],
        )
        for field in dataclasses.fields(METHODS[name])
    }


@pytest.mark.parametrize("name", list(METHODS))
def test_every_number_of_a_method_has_a_range(name):
    hints = hints_of(METHODS[name])
    for parameter, kind in fields(name).items():
        if kind in (int, float):
            assert "Range(" in str(hints[parameter]), parameter


@pytest.mark.parametrize("name", list(METHODS))
def test_every_number_of_a_method_is_checked(name):
    for parameter, kind in fields(name).items():
        if kind not in (int, float):
            continue
        wrong = [math.nan, math.inf, -1, "3", True, [1], 10**400, 1j]
        for value in wrong + [2.5] * (kind is int):
            with pytest.raises(InputError, match=rf"^{parameter} must .*, got ") as error:
                make(name, **{parameter: value}).start((1, 28, 28))
            assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", list(METHODS))
def test_every_choice_and_switch_of_a_method_is_checked(name):
    for parameter, kind in fields(name).items():
        if kind is bool or typing.get_origin(kind) is Literal:
            for value in ("neither", 1, None):
                with pytest.raises(InputError, match=f"^{parameter} must be .*got {value!r}"):
                    make(name, **{parameter: value}).start((1, 28, 28))


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
        ({"projection_dim": 10**10}, "projection_dim must be from 1 to 2147483647, got 1"),
        ({"lr": 1e308}, r"lr must be from 0 to 3.4e\+38, got 1e\+308"),
        ({"device": "meta"}, r"device 'meta' cannot be used .*holds no numbers\); use .*cpu"),
        ({"device": 0}, "device must be text, got 0"),
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


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        *((name, "memory_size") for name in METHODS if "memory_size" in fields(name)),
        *((name, "projection_dim") for name in METHODS if "projection_dim" in fields(name)),
        ("cassle", "predictor_dim"),
        ("patches", "clusters"),
        ("patches", "patches_per_image"),
        ("scale-plus", "clusters"),
        ("scale-plus", "readout_views"),
        ("stam", "delta"),
        ("stam", "long_term_size"),
        ("pixels", "image_side"),
    ],
)
def test_memory_that_cannot_be_had_is_said_before_it_is_asked_for(name, parameter):
    learner = make(name, **{parameter: 2**31 - 1})
    with pytest.raises(InputError, match=f"{parameter} = 2147483647 needs at least .*; lower"):
        learner.start((3, 64, 64))
    assert learner.image_shape_ is None


def test_a_weight_that_would_overflow_features_is_refused():
    with pytest.raises(InputError, match="patch_weight must be above 0 and at most 1000000"):
        make("scale-plus", patch_weight=1e30).start((1, 28, 28))


@pytest.mark.parametrize("shape", [None, 3, b"x", (1, 2), (0, 8, 8), ("a", 8, 8)])
def test_a_shape_that_images_cannot_have_is_refused(shape: object) -> None:
    with pytest.raises(InputError, match="image_shape must be channels, height and width"):
        METHODS["pixels"]().start(shape)  # type: ignore[arg-type]
