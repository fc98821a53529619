"""Things that are looked up by name, and how a third party adds one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import Generic, TypeVar

from scale._errors import DuplicateNameError
from scale._names import unknown_name

T = TypeVar("T")


class Registry(Generic[T]):
    """Names and what they stand for.

    Parameters
    ----------
    kind
        What is registered, in the singular; used in messages and, as ``scale.<kind>``, as the
        name of the entry-point group through which other distributions add theirs.

    Examples
    --------
    >>> shapes = Registry("shape")
    >>> @shapes.register("square")
    ... def square(): return 4
    >>> shapes["square"]()
    4
    >>> shapes["cube"]
    Traceback (most recent call last):
        ...
    scale._errors.UnknownNameError: no shape is called 'cube' (known: square)
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[str, T] = {}
        self._plugins_loaded = False

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that files its object under `name`."""

        def file(entry: T) -> T:
            if name in self._entries and self._entries[name] is not entry:
                raise DuplicateNameError(
                    f"a {self.kind} called {name!r} is already registered; choose another name"
                )
            self._entries[name] = entry
            return entry

        return file

    def __getitem__(self, name: str) -> T:
        self._load_plugins()
        if not isinstance(name, str) or name not in self._entries:  # None, from Python
            raise unknown_name(self.kind, name, self._entries)
        return self._entries[name]

    def __contains__(self, name: object) -> bool:
        self._load_plugins()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        self._load_plugins()
        return iter(sorted(self._entries))

    def choices(self) -> str:
        """Return the names of this package as ``a|b|c``, for help; other packages are not asked."""
        return "|".join(sorted(self._entries))

    def _load_plugins(self) -> None:
        if self._plugins_loaded:
            return
        self._plugins_loaded = True
        for point in entry_points(group=f"scale.{self.kind.replace(' ', '_')}"):
            try:
                self._entries.setdefault(point.name, point.load())
            except Exception as error:  # someone else's code must not take ours down
                warnings.warn(
                    f"the {self.kind} {point.name!r} of {point.value} cannot be loaded: {error}",
                    stacklevel=3,
                )
