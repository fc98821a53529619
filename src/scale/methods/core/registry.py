"""Methods by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from scale._registry import Registry

if TYPE_CHECKING:
    from scale.methods.core.learner import Learner

L = TypeVar("L", bound="type[Learner]")


def _is_method(thing: Any) -> bool:
    from scale.methods.core.learner import Learner

    return isinstance(thing, type) and issubclass(thing, Learner)


class _Methods(Registry["type[Learner]"]):
    """Methods by name; a method that its file does not register has the looked-up text as name."""

    def _from_file(self, name: str) -> type[Learner]:
        method = super()._from_file(name)
        if "name" not in vars(method):
            method.name = name
        return method


METHODS = _Methods("method", _is_method)
DEFAULT_METHOD = "scale-plus"
"""The method of a run that names none."""


def register_method(name: str) -> Callable[[L], L]:
    """Return a decorator that registers a learner's class as `name`."""

    def register(method: L) -> L:
        METHODS.register(name)(method)
        method.name = name
        return method

    return register
