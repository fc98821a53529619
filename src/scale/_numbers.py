"""The one check of numbers that users give."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

from scale._errors import InputError
from scale._names import shown

LARGEST_SEED = 2**32 - 1  # scikit-learn's limit
LARGEST_WHOLE = 2**63 - 1  # of torch's integers
LARGEST_FLOAT = 3.4e38  # of torch's float32


@dataclass(frozen=True)
class Range:
    """The finite numbers that an argument may have.

    Parameters
    ----------
    least, above, most
        The bounds. `least` and `most` are allowed values, `above` is not.
    """

    least: float | None = None
    above: float | None = None
    most: float | None = None

    def __contains__(self, number: float) -> bool:
        low = -math.inf if self.least is None else self.least
        high = math.inf if self.most is None else self.most
        over = self.above is None or number > self.above
        return math.isfinite(number) and low <= number <= high and over

    def __str__(self) -> str:
        if self.above is not None:
            most = "" if self.most is None else f" and at most {self.most}"
            return f"above {self.above}{most}"
        if self.least is None:
            return "finite" if self.most is None else f"at most {self.most}"
        return f"{self.least} or more" if self.most is None else f"from {self.least} to {self.most}"


def check_number(
    name: str,
    value: object,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    whole: bool = False,
) -> None:
    """Raise `InputError` unless `value` is a finite number in a range.

    Parameters
    ----------
    name, value
        The argument's name, for the error, and its value.
    least, above, most
        The bounds. `least` and `most` are allowed values, `above` is not.
    whole
        Refuse fractions too.

    Examples
    --------
    >>> check_number("batch_size", 2.5, least=1, whole=True)
    Traceback (most recent call last):
        ...
    scale._errors.InputError: batch_size must be a whole number, got 2.5
    """
    check_in_range(name, value, Range(least, above, most), whole=whole)


def check_in_range(
    name: str, value: object, allowed: Range, *, whole: bool, largest: int = LARGEST_WHOLE
) -> None:
    """Raise `InputError` unless `value` is a number in the range.

    `largest` bounds a whole number whose range has no upper bound.
    """
    if isinstance(value, bool) or not isinstance(value, Integral if whole else Real):
        kind = "a whole number" if whole else "a number"
        raise InputError(f"{name} must be {kind}, got {shown(value)}")
    number, bound = _as_float(value), largest if whole else LARGEST_FLOAT
    if allowed.most is None and number > bound and (whole or number != math.inf):
        allowed = replace(allowed, most=bound)
    if number not in allowed:
        raise InputError(f"{name} must be {allowed}, got {shown(value)}")


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond the range of floats
        return math.inf
