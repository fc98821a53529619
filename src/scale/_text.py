"""Text that is safe on a terminal: names of files and classes may hold any character."""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Iterable

UNSAFE = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories that move the cursor, change its state, hide text, or cannot be encoded."""
JOINERS = "\u200c\u200d"  # part of words in some scripts, and of emoji


def printable(text: str, keep: str = "") -> str:
    r"""Return `text` with control characters as escapes, except those in `keep`.

    Escape sequences, line breaks, marks that reverse the direction of writing, and bytes of a file
    name that are not UTF-8 become visible instead of reaching the terminal.

    Examples
    --------
    >>> printable("a\x1b[2Jb\n")
    'a\\x1b[2Jb\\n'
    >>> printable("Zürich 東京")
    'Zürich 東京'
    """
    if text.isprintable():
        return text
    return "".join(one if one in keep or _is_safe(one) else _escape(one) for one in text)


def shell_line(arguments: Iterable[str]) -> str:
    r"""Return a command that a shell reads back as `arguments`, on one line.

    Examples
    --------
    >>> shell_line(["scale", "run", "--out", "my run"])
    "scale run --out 'my run'"
    >>> print(shell_line(["cat", "it's\na\tb"]))
    cat $'it\'s\na\tb'
    """
    return " ".join(_quote(one) for one in arguments)


def first_line(error: Exception) -> str:
    """Return the first line of an error's message, or its kind if it has none."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _is_safe(one: str) -> bool:
    return one in JOINERS or unicodedata.category(one) not in UNSAFE


def _escape(one: str) -> str:
    return one.encode("unicode_escape", "surrogatepass").decode("ascii")


def _quote(argument: str) -> str:
    if printable(argument) == argument:
        return shlex.quote(argument)
    escaped = argument.replace("\\", r"\\").replace("'", r"\'")
    return "$'" + "".join(one if _is_safe(one) else _shell_escape(one) for one in escaped) + "'"


def _shell_escape(one: str) -> str:
    if one in "\n\t\r":
        return _escape(one)
    # Three digits, so that a digit after it is not taken as part of the escape.
    return "".join(f"\\{byte:03o}" for byte in one.encode("utf-8", "surrogateescape"))
