"""Methods by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from scale._registry import Registry

if TYPE_CHECKING:
    from scale.methods.core.learner import Learner

L = TypeVar("L", bound="type[Learner]")

METHODS: Registry[type[Learner]] = Registry("method")
DEFAULT_METHOD = "scale-plus"
"""The method of a run that names none."""


def register_method(name: str) -> Callable[[L], L]:
    """Return a decorator that registers a learner's class under `name`."""

    def register(method: L) -> L:
        method.name = name
        METHODS.register(name)(method)
        return method

    return register
