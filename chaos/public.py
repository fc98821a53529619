"""The public functions, classes and methods, read from the lists of names of the packages."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import pkgutil
import typing
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import msgspec

NOT_CALLED = ("testing", "cli")
"""Sub-packages whose functions run whole suites, or are commands."""
OF_OBJECTS = {"ScalePlus": "Learner", "Stream": "Stream"}
"""Classes of which methods are called, too: those that the class beside them defines."""


@dataclass(frozen=True)
class Subject:
    """One public function, or a class or a method of an object."""

    name: str
    strict: bool
    """It is in `scale.__all__`: an exception that is not ours is a failure, and a wrong type that
    is accepted, too."""
    method: str = ""


@functools.cache
def found() -> list[Subject]:
    """Return every public callable, those of `scale` itself first."""
    import scale

    names = {f"scale.{name}": True for name in scale.__all__ if name != "testing"}
    homes = {id(getattr(scale, name.removeprefix("scale."))) for name in names}
    for info in pkgutil.iter_modules(scale.__path__):
        if info.name.startswith("_") or info.name in NOT_CALLED or not info.ispkg:
            continue
        module = import_module(f"scale.{info.name}")
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if callable(value) and id(value) not in homes and signature_of(value) is not None:
                homes.add(id(value))
                names[f"scale.{info.name}.{name}"] = False
    subjects = [Subject(name, strict) for name, strict in names.items() if not _skipped(name)]
    for name, owner in OF_OBJECTS.items():
        for method, function in vars(getattr(scale, owner)).items():
            hook = getattr(getattr(scale, name), method, None) is not function  # for subclasses
            if not method.startswith("_") and not hook and _takes(function, 1):
                subjects.append(Subject(f"scale.{name}", True, method))
    return subjects


def title_of(subject: Subject) -> str:
    """Return the full name."""
    return f"{subject.name}.{subject.method}" if subject.method else subject.name


def _skipped(name: str) -> bool:
    """Return whether there is nothing to try: abstract bases, protocols, records, constants."""
    value = value_of(name)
    abstract = inspect.isabstract(value) or getattr(value, "_is_protocol", False)
    record = dataclasses.is_dataclass(value) or _is_a(value, msgspec.Struct)
    if record and not hasattr(value, "partial_fit") and not hasattr(value, "__post_init__"):
        return True  # it only holds values
    empty = not callable(value) or typing.get_origin(value) is not None or not _takes(value)
    return abstract or empty or name.split(".")[-1] in ("Learner", "Replay")


def _is_a(value: Any, kind: type) -> bool:
    """Return whether a value is a class of a kind."""
    return inspect.isclass(value) and issubclass(value, kind)


def value_of(name: str) -> Any:
    """Return what a full name means."""
    *home, last = name.split(".")
    return getattr(import_module(".".join(home)), last)


def signature_of(value: Any) -> inspect.Signature | None:
    """Return the signature, or None for what cannot be called."""
    try:
        return inspect.signature(value)
    except (TypeError, ValueError):
        return None


def _takes(function: Any, own: int = 0) -> bool:
    """Return whether a function has named parameters beside the `own` first ones."""
    signature = signature_of(function)
    if signature is None:
        return False
    stars = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return sum(one.kind not in stars for one in signature.parameters.values()) > own
