"""The commands and their options, read from the parsers that the program itself makes."""

from __future__ import annotations

import functools
import pkgutil
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import tyro


@dataclass(frozen=True)
class Option:
    """One option or positional argument of a command."""

    command: tuple[str, ...]
    """The words of the command: ("run",), ("data", "get")."""
    method: str | None
    """The method whose parameter it is, for ``scale run``."""
    flags: tuple[str, ...]
    """The option's names; none for a positional argument."""
    name: str
    kind: str
    """int, float, str, path, flag or choice."""
    choices: tuple[str, ...] = ()
    many: bool = False
    optional: bool = False
    required: bool = False

    @property
    def subject(self) -> str:
        """The name that coverage counts."""
        words = [*self.command, *([f"({self.method})"] if self.method else [])]
        return " ".join([*words, self.flags[0] if self.flags else self.name.upper()])


class _Parsed(BaseException):
    """Stops a command when it has made its parser."""


@functools.cache
def commands() -> list[tuple[str, ...]]:
    """Return the words of every command: each public file of `scale.commands` is one.

    A function ``data_get`` that the file ``data`` defines is a command of two words.
    """
    import scale.commands

    found: list[tuple[str, ...]] = []
    for info in pkgutil.iter_modules(scale.commands.__path__):
        if info.name.startswith("_"):
            continue
        found.append((info.name,))
        module = import_module(f"scale.commands.{info.name}")
        for name, value in vars(module).items():
            own = getattr(value, "__module__", "") == module.__name__
            if own and name.startswith(f"{info.name}_"):
                found.append((info.name, name.removeprefix(f"{info.name}_")))
    return found


@functools.cache
def options() -> list[Option]:
    """Return every option of every command; for ``run`` also the parameters of every method."""
    from scale.methods import METHODS

    found = [one for words in commands() for one in _options(words) if one.method is None]
    for method in METHODS:
        found += [one for one in _options(("run",), method) if one.method is not None]
    return found


def _options(words: tuple[str, ...], method: str = "scale-plus") -> list[Option]:
    arguments = ["--out", "x", *(["--method", method] if words == ("run",) else [])]
    made = _parser(words, arguments)
    return list(_read(made, words, method)) if made is not None else []


def _parser(words: tuple[str, ...], arguments: list[str]) -> Any:
    """Return the parser that a command makes, by stopping it there."""
    from scale import cli

    caught: dict[str, Any] = {}

    def note(function: Any, **given: Any) -> Any:
        caught.update(given, f=function)
        raise _Parsed

    real, tyro.cli = tyro.cli, note  # type: ignore[assignment]
    try:
        cli.dispatch([*words, *arguments])
    except _Parsed:
        pass
    finally:
        tyro.cli = real
    if not caught:
        return None
    kept = {name: caught[name] for name in ("default", "config") if name in caught}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return tyro.extras.get_parser(caught["f"], **kept)


def _read(parser: Any, words: tuple[str, ...], method: str) -> Iterator[Option]:
    for action in parser._actions:
        if "--help" in action.option_strings:
            continue
        metavar = str(action.metavar or "")
        yield Option(
            command=words,
            method=method if action.dest.startswith("method.") else None,
            flags=tuple(action.option_strings),
            name=action.dest.split(".")[-1].replace("-", "_"),
            kind=_kind(action, metavar),
            choices=tuple(action.choices or ()) or _named(metavar),
            many=action.nargs == "*",
            optional="{None}" in metavar,
            required=bool(action.required),
        )


def _kind(action: Any, metavar: str) -> str:
    if action.nargs == 0:
        return "flag"
    if action.choices:
        return "choice"
    for kind in ("int", "float", "path"):
        if kind.upper() in metavar:
            return kind
    return "str"


def _named(metavar: str) -> tuple[str, ...]:
    """Return the names in a metavar like ``cnn|resnet18``."""
    parts = metavar.split("|")
    return tuple(parts) if len(parts) > 1 and all(part.islower() for part in parts) else ()
