"""The parser of options: tyro, with mistakes told on one line."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scale._errors import InputError

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
UNION = re.compile(r"no type matching (\S+) could be instantiated from \['(.*?)'\]\..*")
PLAIN = (
    (re.compile(r"invalid literal for int\(\) with base 10: '(.*?)'"), r"\1 is not a whole number"),
    (re.compile(r"could not convert string to float: '(.*?)'"), r"\1 is not a number"),
    (re.compile(r"Could not find valid parse for arguments: \[(.*?)\]"), r"\1 cannot be used"),
    (re.compile(r"exceeds the limit .*? string conversion.*limit", re.I), "it has too many digits"),
)
"""What Python says of a text that is no number, and plain words for it."""
WORDS = {"INT": "a whole number", "FLOAT": "a number", "PATH": "a path"}
HELP_OPTIONS = {"-h", "--help"}
NARROWEST, UNBROKEN = 40, 2000  # columns; tyro never ends on a terminal of a few
LONG = 60  # characters of a text that are repeated
NAMES, HELP = 4, 8  # how far tyro indents the names of options, and the help on them


def parse(kind: Callable[..., Any], prog: str, arguments: list[str], **more: Any) -> Any:
    """Return an instance of the dataclass `kind`, from the arguments.

    Parameters
    ----------
    kind
        A dataclass, or a function; see `call`.
    prog
        Name of the command in messages.
    arguments
        What the user typed after it.
    more
        Options of `tyro.cli`.
    """
    import tyro

    told = io.StringIO()
    try:
        with _width_for(arguments), contextlib.redirect_stderr(told):
            return tyro.cli(kind, prog=prog, args=arguments, registry=_registry(), **more)
    except SystemExit as stopped:
        if not stopped.code:
            raise
        raise InputError(f"{in_one_line(told.getvalue())}; see {prog} --help") from None


@functools.cache
def _registry() -> Any:
    """Return the rule for paths: an empty text, as of a variable that is not set, is none."""
    from tyro.constructors import (
        ConstructorRegistry,
        PrimitiveConstructorSpec,
        PrimitiveTypeInfo,
    )

    def path(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Path] | None:
        if info.type is not Path:
            return None
        return PrimitiveConstructorSpec(
            nargs=1,
            metavar="PATH",
            instance_from_str=lambda texts: _as_path(texts[0]),
            is_instance=lambda value: isinstance(value, Path),
            str_from_instance=lambda value: [str(value)],
        )

    registry = ConstructorRegistry()
    registry.primitive_rule(path)
    return registry


def _as_path(text: str) -> Path:
    if not text:
        raise ValueError("'' is not a path")
    return Path(text)


def call(command: Callable[..., None], prog: str, arguments: list[str]) -> None:
    """Call a function with its arguments from the command line."""

    @functools.wraps(command)
    def bind(*args: Any, **kwargs: Any) -> Callable[[], None]:
        return functools.partial(command, *args, **kwargs)

    parse(bind, prog, arguments)()


def peek(arguments: list[str], option: str) -> str | None:
    """Return an option's value, for a parser that depends on it and does not exist yet.

    Examples
    --------
    >>> peek(["--method", "er", "--seed=1"], "--seed")
    '1'
    """
    for i, argument in enumerate(arguments):
        if argument == option and i + 1 < len(arguments):
            return arguments[i + 1]
        if argument.startswith(f"{option}="):
            return argument.removeprefix(f"{option}=")
    return None


def in_one_line(box: str) -> str:
    r"""Return what tyro's box says, without its frame and its help texts.

    Examples
    --------
    >>> box = ["Unrecognized options", " -----", "  Unrecognized options: --sed", "  ------"]
    >>> box += ["  Perhaps you meant:", "      --seed INT", "          The seed.", "  -----"]
    >>> in_one_line("\n".join([*box, "  For full helptext, run x --help"]))
    'unrecognized options: --sed; perhaps you meant: --seed INT'
    """
    parts: list[str] = []
    _title, *lines = [COLOURS.sub("", line)[2:].rstrip(" │") for line in box.splitlines()] or [""]
    for section in _sections(lines):
        if not section or section[0].startswith(("For full helptext", "Argument helptext")):
            continue
        shown = [line for line in section if _indent(line) < HELP]
        names = [line.strip() for line in shown if _indent(line) >= NAMES]
        text = " ".join(line.strip() for line in shown if _indent(line) < NAMES)
        parts.append(f"{text} {', '.join(names)}".strip())
    message = "; ".join(part[:1].lower() + part[1:].rstrip(".") for part in parts)
    message = UNION.sub(lambda found: f"{_short(found[2])} is not {_in_words(found[1])}", message)
    for python, words in PLAIN:
        message = python.sub(words, message)
    return message or " ".join(box.split())


def _short(text: str) -> str:
    return (text or "''") if len(text) <= LONG else f"{text[:LONG]}..."


def _in_words(metavar: str) -> str:
    """Return what an option takes.

    Examples
    --------
    >>> _in_words("{None}|INT")
    'a whole number'
    """
    return " or ".join(WORDS.get(one, one) for one in metavar.split("|") if one != "{None}")


def _sections(rows: list[str]) -> Iterator[list[str]]:
    section: list[str] = []
    for row in rows:
        if row and not row.strip("─-╯ "):
            yield section
            section = []
        elif row.strip():
            section.append(row)
    yield section


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


@contextlib.contextmanager
def _width_for(arguments: list[str]) -> Iterator[None]:
    """Tell tyro how wide its text may be: help has the terminal's width, messages stay whole."""
    before = os.environ.get("COLUMNS")
    wanted = shutil.get_terminal_size().columns if HELP_OPTIONS & set(arguments) else UNBROKEN
    os.environ["COLUMNS"] = str(max(wanted, NARROWEST))
    try:
        yield
    finally:
        if before is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = before
