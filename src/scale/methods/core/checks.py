"""Checks of numeric parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real

from scale._errors import InputError

LARGEST_SEED = 2**32 - 1  # scikit-learn's limit


def check_numbers(
    owner: object,
    *names: str,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    whole: bool = False,
) -> None:
    """Raise `InputError` unless attributes of `owner` are finite numbers in a range.

    Parameters
    ----------
    owner, names
        An object, and the names of attributes to check.
    least, above, most
        The bounds. `least` and `most` are allowed values, `above` is not.
    whole
        Refuse fractions too.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> check_numbers(SimpleNamespace(lr=float("nan")), "lr", above=0)
    Traceback (most recent call last):
        ...
    scale._errors.InputError: lr must be above 0, got nan
    """
    for name in names:
        check_number(name, getattr(owner, name), least=least, above=above, most=most, whole=whole)


def check_choice(owner: object, name: str, allowed: Sequence[str]) -> None:
    """Raise `InputError` unless an attribute of `owner` is one of the allowed words.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> check_choice(SimpleNamespace(views="twice"), "views", ("once", "anew"))
    Traceback (most recent call last):
        ...
    scale._errors.InputError: views must be one of once, anew, got 'twice'
    """
    value = getattr(owner, name)
    if value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")


def check_number(
    name: str,
    value: object,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    whole: bool = False,
) -> None:
    """Raise `InputError` unless `value` is a finite number in a range; see `check_numbers`."""
    if not isinstance(value, Real) or (whole and not isinstance(value, Integral)):
        kind = "a whole number" if whole else "a number"
        raise InputError(f"{name} must be {kind}, got {value!r}")
    number = float(value)
    low = -math.inf if least is None else least
    high = math.inf if most is None else most
    over = above is None or number > above
    if not (math.isfinite(number) and low <= number <= high and over):
        raise InputError(f"{name} must be {_range(least, above, most)}, got {value}")


def _range(least: float | None, above: float | None, most: float | None) -> str:
    if above is not None:
        return f"above {above}" if most is None else f"above {above} and at most {most}"
    if least is None:
        return "finite"
    return f"{least} or more" if most is None else f"from {least} to {most}"
