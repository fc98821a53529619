"""How often a frame is taken: every few seconds, or every few frames."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from scale._errors import InputError
from scale._numbers import check_number

_FORM = re.compile(r"([0-9]*\.?[0-9]+)\s*(s|f)")
LONGEST = 1e9


@dataclass(frozen=True)
class Every:
    """One frame per `amount` seconds (`unit` "s") or frames ("f").

    Examples
    --------
    >>> Every.parse("0.5s"), Every.parse("10f")
    (Every(amount=0.5, unit='s'), Every(amount=10.0, unit='f'))
    >>> Every.parse("10")
    Traceback (most recent call last):
        ...
    scale._errors.InputError: every must be seconds (2s) or frames (10f), got '10'; add s or f
    """

    amount: float
    unit: Literal["s", "f"]

    @classmethod
    def parse(cls, text: str) -> Every:
        """Return what a user wrote."""
        found = _FORM.fullmatch(text.strip())
        if found is None:
            raise InputError(
                f"every must be seconds (2s) or frames (10f), got {text!r}; add s or f"
            )
        amount, unit = float(found[1]), found[2]
        if unit == "f":
            check_number("every", amount, least=1, most=LONGEST)
            if amount != int(amount):
                raise InputError(f"every must be a whole number of frames, got {text!r}")
            return cls(amount, "f")
        check_number("every", amount, above=0, most=LONGEST)
        return cls(amount, "s")
