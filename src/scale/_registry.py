"""Registries: objects by name, from this package, from plug-ins and from files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from scale._errors import DuplicateNameError, InputError
from scale._from_file import file_of, find_in_file, names_a_file
from scale._names import check_text, unknown_name

T = TypeVar("T")


class Registry(Generic[T]):
    """Objects by name.

    Parameters
    ----------
    kind
        Noun for the objects, in the singular. Messages use it. Other distributions add objects
        through the entry-point group ``scale.<kind>``, with ``_`` for spaces.
    fits
        Returns whether an object is of this kind. With it, ``path.py`` and ``path.py:Name`` are
        names too: the lookup imports the file.

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

    def __init__(self, kind: str, fits: Callable[[Any], bool] | None = None) -> None:
        self.kind = kind
        self._fits = fits
        self._entries: dict[str, T] = {}
        self._of_files: dict[str, T] = {}
        self._places: dict[str, str] = {}
        self._plugins_loaded = False

    def register(self, name: str) -> Callable[[T], T]:
        """Return a decorator that registers its object as `name`."""
        check_text(f"the name of a {self.kind}", name)

        def add(entry: T) -> T:
            if name in self._entries and self._entries[name] is not entry:
                raise DuplicateNameError(
                    f"a {self.kind} called {name!r} is already registered; choose another name"
                )
            self._entries[name] = entry
            return entry

        return add

    def locate(self, name: str, place: str | None) -> None:
        """Make `name` mean the file at `place`, independent of the current folder.

        Parameters
        ----------
        name
            ``path.py`` or ``path.py:Name``, as the user gave it.
        place
            ``/absolute/path.py:Name``. None, or a missing file, changes nothing.
        """
        if place is not None and names_a_file(name) and file_of(place).is_file():
            self._places[name] = place

    def __getitem__(self, name: str) -> T:
        self._load_plugins()
        if isinstance(name, str) and name in self._entries:
            return self._entries[name]
        if self._fits is not None and names_a_file(name):
            return self._from_file(name)
        raise unknown_name(self.kind, name, self._entries)

    def __contains__(self, name: object) -> bool:
        """Return whether `name` is registered, or a file that was looked up before.

        This imports no file: reading a record must not run the code that it names.
        """
        self._load_plugins()
        return isinstance(name, str) and (name in self._entries or name in self._of_files)

    def __iter__(self) -> Iterator[str]:
        self._load_plugins()
        return iter(sorted(self._entries))

    def choices(self) -> str:
        """Return the registered names as ``a|b|c``, for help; this loads no plug-ins."""
        return "|".join(sorted(self._entries))

    def _from_file(self, name: str) -> T:
        assert self._fits is not None
        before = dict(self._entries)
        try:
            found = find_in_file(self._place(name), self.kind, self._fits)
        except BaseException:
            self._entries = before  # a file that fails registers nothing
            raise
        entry: T = found.thing
        self._of_files[name] = self._of_files[found.place] = entry
        return entry

    def _place(self, name: str) -> str:
        place = self._places.get(name, name)
        here, there = file_of(name), file_of(place)
        if here.is_file() and not here.samefile(there):
            raise InputError(
                f"{name} in this folder is not {there}, the file of the run; go to another folder, "
                "or give the whole path"
            )
        return place

    def _load_plugins(self) -> None:
        if self._plugins_loaded:
            return
        self._plugins_loaded = True
        for point in entry_points(group=f"scale.{self.kind.replace(' ', '_')}"):
            try:
                self._entries.setdefault(point.name, point.load())
            except Exception as error:  # a broken plug-in must not break the others
                warnings.warn(
                    f"the {self.kind} {point.name!r} of {point.value} cannot be loaded: {error}",
                    stacklevel=3,
                )
