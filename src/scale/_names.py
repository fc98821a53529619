"""Texts that users give: checks of them, and errors with the nearest known name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from numbers import Real

from scale._errors import InputError, UnknownNameError

LONGEST = 80  # characters of a value in an error


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the known name nearest to `name`, or nothing.

    Examples
    --------
    >>> did_you_mean("sale", ["scale", "er"]), did_you_mean("zzz", ["scale", "er"])
    ("; did you mean 'scale'?", '')
    """
    close = difflib.get_close_matches(name, list(known), n=1) if isinstance(name, str) else []
    return f"; did you mean {close[0]!r}?" if close else ""


def unknown_name(kind: str, name: object, known: Iterable[str], more: str = "") -> UnknownNameError:
    """Return the error for a name that is not among `known`.

    Parameters
    ----------
    kind
        Noun for the message, in the singular: "method".
    name
        The unknown name.
    known
        The allowed names.
    more
        Text after the known names.

    Examples
    --------
    >>> raise unknown_name("hat", "cp", ["cap"])
    Traceback (most recent call last):
        ...
    scale._errors.UnknownNameError: no hat is called 'cp'; did you mean 'cap'? (known: cap)
    """
    names = sorted(known)
    listed = ", ".join(names) or "none"
    return UnknownNameError(
        f"no {kind} is called {shown(name)}{did_you_mean(name, names)} (known: {listed}{more})"
    )


def shown(value: object) -> str:
    """Return a value as one short line, for an error.

    Examples
    --------
    >>> shown("a\\nb"), shown(list(range(100)))
    ("'a\\\\nb'", '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18...')
    """
    try:
        text = str(value) if isinstance(value, Real) else " ".join(repr(value).split())
    except Exception:  # an object's own code, or a number of thousands of digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 12]}..."


def check_text(name: str, value: object) -> str:
    """Return `value` if it is a text that is not empty, else raise `InputError`."""
    if not isinstance(value, str) or not value:
        raise InputError(f"{name} must be a text, got {shown(value)}")
    return value


def check_one_of(name: str, value: object, allowed: Iterable[str]) -> None:
    """Raise `InputError` unless `value` is one of the allowed texts.

    Examples
    --------
    >>> check_one_of("views", "twice", ("once", "anew"))
    Traceback (most recent call last):
        ...
    scale._errors.InputError: views must be 'once' or 'anew', got 'twice'
    """
    known = list(allowed)
    if not isinstance(value, str) or value not in known:
        raise InputError(f"{name} must be {' or '.join(map(repr, known))}, got {shown(value)}")
