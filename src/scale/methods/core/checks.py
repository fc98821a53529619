"""The one check of a learner's parameters, by the types and ranges that its fields declare."""

from __future__ import annotations

import dataclasses
import types
import typing
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
import torch

from scale._errors import InputError
from scale._machine import check_memory as check_machine_memory
from scale._names import shown
from scale._numbers import LARGEST_SEED, Range, check_in_range

LARGEST_WHOLE = 2**31 - 1  # products of larger ones overflow torch's indices


Seed = Annotated[int, Range(least=0, most=LARGEST_SEED)]
Count = Annotated[int, Range(least=1)]
Amount = Annotated[int, Range(least=0)]
Positive = Annotated[float, Range(above=0)]
Weight = Annotated[float, Range(least=0)]
Fraction = Annotated[float, Range(least=0, most=1)]


def check_params(owner: Any) -> None:
    """Raise `InputError` unless every field of a dataclass has a value of its type and range.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class Settings:
    ...     lr: Positive = 0.1
    >>> check_params(Settings(lr=float("nan")))
    Traceback (most recent call last):
        ...
    scale._errors.InputError: lr must be above 0, got nan
    """
    kind: Any = type(owner)
    hints = hints_of(kind)
    for field in dataclasses.fields(owner):
        _check(field.name, getattr(owner, field.name), hints.get(field.name, Any))


@lru_cache(maxsize=256)
def hints_of(kind: Any) -> dict[str, Any]:
    """Return the types of a class's fields with their ranges; none if they cannot be resolved."""
    try:
        return typing.get_type_hints(kind, include_extras=True)
    except NameError:  # a name that only a type checker imports
        return {}


def check_memory(owner: object, name: str, needed: float) -> None:
    """Raise `InputError` if a parameter asks for more memory than the machine has.

    Parameters
    ----------
    owner, name
        A learner, and the parameter that decides the size.
    needed
        Bytes that it needs at least.
    """
    value = shown(getattr(owner, name))
    check_machine_memory(needed, f"{name} = {value}", f"lower {name}")


def check_device(device: object) -> None:
    """Raise `InputError` unless learners can compute on this device."""
    try:
        if not isinstance(device, str):
            raise TypeError("it must be text")
        if torch.empty(0, device=device).is_meta:
            raise TypeError("it holds no numbers")
    except (RuntimeError, AssertionError, TypeError) as error:
        raise InputError(
            f"device {shown(device)} cannot be used here ({str(error).splitlines()[0]}); use "
            "another, such as cpu"
        ) from error


def _check(name: str, value: object, hint: Any) -> None:
    allowed, kind = Range(), hint
    if typing.get_origin(kind) is Annotated:
        kind, *more = typing.get_args(hint)
        allowed = next((one for one in more if isinstance(one, Range)), allowed)
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        options = [one for one in typing.get_args(kind) if one is not type(None)]
        if len(options) == 1 and value is not None:
            _check(name, value, options[0])
    elif typing.get_origin(kind) is Literal:
        _check_choice(name, value, typing.get_args(kind))
    elif typing.get_origin(kind) is list:
        if not isinstance(value, list | tuple):
            raise InputError(f"{name} must be a list, got {shown(value)}")
        for one in value:
            _check(name, one, typing.get_args(kind)[0])
    elif kind in (int, float):
        check_in_range(name, value, allowed, whole=kind is int, largest=LARGEST_WHOLE)
    elif kind is bool and not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False, got {shown(value)}")
    elif hint is str and not isinstance(value, str):  # other texts are names, which lookups check
        raise InputError(f"{name} must be text, got {shown(value)}")


def _check_choice(name: str, value: object, allowed: tuple[Any, ...]) -> None:
    if not any(value is one or (isinstance(value, type(one)) and value == one) for one in allowed):
        raise InputError(
            f"{name} must be one of {', '.join(map(str, allowed))}, got {shown(value)}"
        )
