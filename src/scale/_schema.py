"""Tables from files (TOML, JSON) checked against a `msgspec.Struct`, with errors in plain words."""

from __future__ import annotations

import re
import tomllib
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from scale._errors import InputError
from scale._files import read_text
from scale._names import did_you_mean

T = TypeVar("T", bound=msgspec.Struct)

WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "none",
}
"""Plain names of the types in msgspec's messages."""
_AT = re.compile(r"(?P<what>.*?)(?: - at `(?P<path>.+)`)?", re.DOTALL)
_EXPECTED = re.compile(r"Expected `(?P<wanted>[^`]+)`(?P<more>.*), got `(?P<got>\w+)`")
_STEP = re.compile(r"\.(?P<name>\w+)|\[(?P<index>\d+|\.\.\.)\]")


def read_toml(text: str, struct: type[T], where: str) -> T:
    """Read a TOML text as `struct`; see `read_table`."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where} is not valid TOML: {error}") from error
    except RecursionError as error:
        raise InputError(f"{where} is not valid TOML: its brackets are nested too deep") from error
    return read_table(table, struct, where)


def read_toml_file(path: Path, struct: type[T]) -> T:
    """Read a TOML file as `struct`; see `read_table`."""
    return read_toml(read_text(path), struct, str(path))


def read_table(table: dict[str, Any], struct: type[T], where: str) -> T:
    """Return `table` as a `struct`.

    Parameters
    ----------
    table
        Values by name, as a TOML or JSON reader returns them.
    struct
        The fields and their types. With ``forbid_unknown_fields=True`` a misspelt name is refused.
    where
        Name of the source, for the error.

    Raises
    ------
    InputError
        A name is unknown or missing, or a value has the wrong type. The message is one line.

    Examples
    --------
    >>> class Cup(msgspec.Struct, forbid_unknown_fields=True):
    ...     colour: str = "white"
    ...     litres: float = 0.2
    >>> read_table({"litres": 1}, Cup, "my cup")
    Cup(colour='white', litres=1.0)
    >>> read_table({"colour": 3}, Cup, "my cup")
    Traceback (most recent call last):
        ...
    scale._errors.InputError: my cup: colour must be text, got 3
    >>> read_table({"color": "red"}, Cup, "my cup")
    Traceback (most recent call last):
        ...
    scale._errors.InputError: my cup has an unknown entry 'color'; did you mean 'colour'? (known: \
colour, litres)
    """
    try:
        return msgspec.convert(table, struct)
    except msgspec.ValidationError as error:
        raise InputError(_explain(str(error), table, struct, where)) from error


def misfit(value: object, hint: Any) -> str | None:
    """Return in words what `value` must be to fit a type hint, or None if it fits.

    Examples
    --------
    >>> misfit("many", float), misfit(2, float), misfit("z", Literal["h", "x"])
    ('a number', None, "'h' or 'x'")
    """
    try:
        msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        expected = _EXPECTED.match(str(error))
        return _in_words(expected) if expected else " or ".join(map(repr, typing.get_args(hint)))
    except TypeError:  # a type that msgspec does not know
        pass
    return None


def _in_words(expected: re.Match[str]) -> str:
    wanted = expected["wanted"].split(" | ")
    return " or ".join(WORDS.get(one, one) for one in wanted) + expected["more"]


def _explain(message: str, table: dict[str, Any], struct: type[Any], where: str) -> str:
    """Return msgspec's message as one plain sentence."""
    parts = _AT.fullmatch(message)
    assert parts is not None  # the pattern fits every text
    what, path = parts["what"], parts["path"] or ""
    steps = [step["name"] or step["index"] for step in _STEP.finditer(path)]
    name = what.split("`")[1] if "`" in what else ""
    expected = _EXPECTED.match(what)

    def is_wrong(value: Any) -> bool:
        if expected:
            return _name_of(value) == expected["got"]
        return isinstance(value, dict) and (name in value) == ("unknown field" in what)

    place, value = next(_at(table, steps, is_wrong), ("", table))
    kind = _type_at(struct, steps)
    prefix = f"{where}: {place}" if place else where
    if expected:
        return f"{prefix} must be {_in_words(expected)}, got {value!r}"
    if what.startswith("Invalid enum value"):
        allowed = ", ".join(map(str, typing.get_args(kind)))
        return f"{prefix} must be one of {allowed}; got {value!r}"
    if "unknown field" in what:
        known = list(kind.__struct_encode_fields__)
        hint = did_you_mean(name, known)
        return f"{prefix} has an unknown entry {name!r}{hint} (known: {', '.join(known)})"
    if "missing required field" in what:
        return f"{prefix} needs an entry {name!r}"
    return f"{prefix}: {what}"


def _at(
    value: Any, steps: list[str], is_wrong: Callable[[Any], bool], place: str = ""
) -> Iterator[tuple[str, Any]]:
    """Yield the places and values that `steps` may lead to, the wrong ones first.

    msgspec writes ``...`` for any key of a table, so several places are possible.
    """
    if not steps:
        yield place, value
        return
    step, rest = steps[0], steps[1:]
    keys = list(value) if step == "..." else [int(step) if isinstance(value, list) else step]
    found = []
    for key in keys:
        if isinstance(value, dict) and key not in value:
            continue  # another table has it
        at = f"{place}[{key}]" if isinstance(key, int) else f"{place}.{key}".strip(".")
        found += list(_at(value[key], rest, is_wrong, at))
    yield from sorted(found, key=lambda one: not is_wrong(one[1]))


def _name_of(value: object) -> str:
    names = {str: "str", bool: "bool", int: "int", float: "float", list: "array", dict: "object"}
    return names.get(type(value), "null")


def _type_at(kind: Any, steps: list[str]) -> Any:
    """Return the type at the end of `steps`: a Struct or a Literal inside the hints."""
    for step in steps:
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            kind = typing.get_type_hints(kind)[step]
        else:
            kind = typing.get_args(kind)[-1]
        kind = _without_none(kind)
    return kind


def _without_none(kind: Any) -> Any:
    if typing.get_origin(kind) in (Literal, list, dict, None):
        return kind
    return next((part for part in typing.get_args(kind) if part is not type(None)), kind)
