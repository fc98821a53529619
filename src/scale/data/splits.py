"""The names of splits, and which of them are synonyms."""

from __future__ import annotations

from collections.abc import Collection

from scale._errors import NoSplitError

HELD_OUT = ("test", "val", "valid", "validation")
SPLITS = ("train", *HELD_OUT)


def match_split(asked: str, available: Collection[str], where: str) -> str:
    """Return the available split that `asked` means.

    Test, val, valid and validation are synonyms: datasets use any of them for held-out images.

    Examples
    --------
    >>> match_split("test", ["train", "valid"], "here")
    'valid'
    """
    same = (asked, *HELD_OUT) if asked in HELD_OUT else (asked,)
    for name in same:
        if name in available:
            return name
    found = ", ".join(sorted(available)) or "none"
    raise NoSplitError(f"{where} has no split called {asked!r}; it has: {found}")
