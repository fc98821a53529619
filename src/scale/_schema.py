"""Tables of a TOML file to typed values, with errors in plain words."""

from __future__ import annotations

import re
import tomllib
from typing import Any, TypeVar

import msgspec

from scale._errors import InputError
from scale._names import did_you_mean

Struct = TypeVar("Struct", bound=msgspec.Struct)
WORDS = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
}
"""Types in the words of a TOML file."""


def read_toml(text: str, struct: type[Struct], where: str) -> Struct:
    """Return the content of a TOML file as a `struct`.

    Parameters
    ----------
    text
        Content of the file.
    struct
        What the file should hold; declare it with ``forbid_unknown_fields=True``.
    where
        Name of the file, for errors.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{where} is not valid TOML: {error}") from error
    return read_table(table, struct, where)


def read_table(table: dict[str, Any], struct: type[Struct], where: str) -> Struct:
    """Return a table as a `struct`; an unknown key, a missing one or a wrong type is an error.

    Examples
    --------
    >>> class Hat(msgspec.Struct, forbid_unknown_fields=True):
    ...     size: int
    >>> read_table({"size": 7}, Hat, "hat.toml")
    Hat(size=7)
    >>> read_table({"siez": 7}, Hat, "hat.toml")
    Traceback (most recent call last):
        ...
    scale._errors.InputError: hat.toml: unknown key 'siez'; did you mean 'size'? (known: size)
    """
    try:
        return msgspec.convert(table, struct)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}: {_plainly(str(error), struct)}") from error


def _plainly(message: str, struct: type[msgspec.Struct]) -> str:
    """Return msgspec's message in the words of the file."""
    message, _, path = message.partition(" - at `$")
    at = path.rstrip("`").lstrip(".")
    said = re.search(r"`(.+?)`", message)
    if said and "unknown field" in message:
        kinds = _structs(struct)[1:] if at else [struct]
        known = [name for kind in kinds for name in kind.__struct_encode_fields__]
        hint, listed = did_you_mean(said[1], known), ", ".join(dict.fromkeys(known))
        return f"{f'{at}: ' if at else ''}unknown key {said[1]!r}{hint} (known: {listed})"
    if said and "missing required field" in message:
        return f"{f'{at}: ' if at else ''}the key {said[1]!r} is missing"
    plain = re.sub(r"`(\w+)`", lambda found: WORDS.get(found[1], found[1]), message)
    return f"{at or 'the table'}: {plain[:1].lower()}{plain[1:]}"


def _structs(struct: type[msgspec.Struct]) -> list[type[msgspec.Struct]]:
    """Return a struct and those in its fields, the innermost last."""
    found = [struct]
    for info in msgspec.structs.fields(struct):
        inner = getattr(info.type, "__args__", (info.type,))
        found += [each for each in inner if isinstance(each, type) and _is_struct(each)]
    return found


def _is_struct(kind: type) -> bool:
    return issubclass(kind, msgspec.Struct)
