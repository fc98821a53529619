"""Import an object from a user's Python file: ``path.py`` or ``path.py:Name``."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from scale._errors import InputError, ScaleError
from scale._names import unknown_name

FILE_AND_NAME = re.compile(r"(?P<path>.+\.py)(?::(?P<name>\w+))?")


class Found(NamedTuple):
    """An object from a file."""

    thing: Any
    place: str
    """Where it is: ``/absolute/path.py:Name``."""


def names_a_file(text: object) -> bool:
    """Return whether a text has the form ``path.py`` or ``path.py:Name``.

    Examples
    --------
    >>> [names_a_file(text) for text in ("mine.py", "a/mine.py:Mine", "scale-plus", None)]
    [True, True, False, False]
    """
    return isinstance(text, str) and FILE_AND_NAME.fullmatch(text) is not None


def file_of(text: str) -> Path:
    """Return the path in ``path.py`` or ``path.py:Name``."""
    match = FILE_AND_NAME.fullmatch(text)
    assert match is not None
    return Path(match["path"]).expanduser()


def place_of(thing: Any) -> str | None:
    """Return ``/absolute/path.py:Name`` for an object that `find_in_file` imported, else None."""
    module = sys.modules.get(getattr(thing, "__module__", ""))
    path = getattr(module, "__scale_file__", None)
    return None if path is None else f"{path}:{thing.__name__}"


def find_in_file(text: str, kind: str, fits: Callable[[Any], bool]) -> Found:
    """Import a file; return its object of that name, or its only object of a kind.

    Parameters
    ----------
    text
        ``path.py`` or ``path.py:Name``.
    kind
        Noun for messages, in the singular: "method".
    fits
        Returns whether an object is of that kind.
    """
    path = file_of(text)
    if not path.is_file():
        raise InputError(f"there is no file {path} (looked in {os.getcwd()}); check the path")
    module = _import_once(path.resolve())
    defined = {
        name: thing
        for name, thing in vars(module).items()
        if not name.startswith("_") and fits(thing) and thing.__module__ == module.__name__
    }
    name = text.rpartition(".py:")[2] if ".py:" in text else _only(defined, kind, path)
    if name not in defined:
        raise unknown_name(f"{kind} in {path}", name, defined)
    missing = getattr(defined[name], "__abstractmethods__", ())
    if missing:
        raise InputError(
            f"{name} in {path} is not complete; define {', '.join(sorted(missing))} in it"
        )
    return Found(defined[name], f"{path.resolve()}:{name}")


def _only(defined: dict[str, Any], kind: str, path: Path) -> str:
    complete = [name for name, thing in defined.items() if not inspect.isabstract(thing)]
    if not defined:
        raise InputError(f"{path} defines no {kind}; docs/extending.md shows how to write one")
    if len(complete or defined) > 1:
        names = sorted(complete or defined)
        raise InputError(
            f"{path} defines more than one {kind} ({', '.join(names)}); "
            f"say which, for example {path}:{names[0]}"
        )
    return next(iter(complete or defined))


def _import_once(path: Path) -> ModuleType:
    """Return the module of a file; import it only once."""
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == str(path):
            return module
    spec = _spec(path)
    assert spec.loader is not None
    name = spec.name
    module = importlib.util.module_from_spec(spec)
    module.__scale_file__ = str(path)  # type: ignore[attr-defined]
    sys.modules[name] = module  # dataclasses and type hints look it up
    try:
        with _beside(path):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise InputError(f"cannot import {path}: {_reason(error, path)}") from error
    return module


def _spec(path: Path) -> ModuleSpec:
    """Return the spec of a file: the one that ``import`` finds, else one with a unique name."""
    free = path.stem.isidentifier() and path.stem not in sys.modules
    found = importlib.util.find_spec(path.stem) if free else None
    if found is not None and found.origin == str(path):
        return found
    name = f"scale_file_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    return spec


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[None]:
    """Let a file import the files beside it, like a script."""
    folder = str(path.parent)
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def _reason(error: BaseException, path: Path) -> str:
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"line {error.lineno}: {error.msg}"
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path)]
    where = f"line {lines[-1]}: " if lines else ""
    what = "" if isinstance(error, ScaleError) else f"{type(error).__name__}: "
    return f"{where}{what}{error}"
