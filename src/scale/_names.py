"""Errors for unknown names, with the nearest known name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from scale._errors import UnknownNameError


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the known name nearest to `name`, or nothing.

    Examples
    --------
    >>> did_you_mean("sale", ["scale", "er"]), did_you_mean("zzz", ["scale", "er"])
    ("; did you mean 'scale'?", '')
    """
    close = difflib.get_close_matches(str(name), list(known), n=1)
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
        f"no {kind} is called {name!r}{did_you_mean(name, names)} (known: {listed}{more})"
    )
