"""Randomness of modules from a generator of one's own, for this thread alone."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from scale._errors import InputError
from scale._names import shown

NEVER_DRAW = (
    nn.Sequential,
    nn.ModuleList,
    nn.Conv2d,
    nn.BatchNorm2d,
    nn.Linear,
    nn.ReLU,
    nn.ReLU6,
    nn.MaxPool2d,
    nn.AvgPool2d,
    nn.Flatten,
    nn.Identity,
)


@contextlib.contextmanager
def default_rng(generator: torch.Generator) -> Iterator[None]:
    """Let torch draw from `generator` where it would use its default generator, on the CPU.

    `nn.Module` constructors and dropout use only the default generator. It belongs to the whole
    process, so another thread could draw from it at any moment. Here it does not change, and other
    threads notice nothing. A pass that is computed again in `backward` (activation checkpointing)
    draws from torch's own.

    Examples
    --------
    >>> with default_rng(torch.Generator().manual_seed(3)):
    ...     drawn = torch.rand(2)
    >>> torch.equal(drawn, torch.rand(2, generator=torch.Generator().manual_seed(3)))
    True
    """
    if not isinstance(generator, torch.Generator):
        raise InputError(f"generator must be a torch.Generator, got {shown(generator)}")
    with _DrawFrom(generator):
        yield


_RESTORED = ContextVar("restored", default=False)


@contextlib.contextmanager
def restored_later() -> Iterator[None]:
    """Let networks of this package be built undrawn: their state follows, and drawing is slow."""
    token = _RESTORED.set(True)
    try:
        yield
    finally:
        _RESTORED.reset(token)


@contextlib.contextmanager
def source_of(factory: object, generator: torch.Generator) -> Iterator[None]:
    """Let a network draw its weights from `generator`, or not at all if that is enough."""
    ours = str(getattr(factory, "__module__", "")).startswith("scale.models.")
    if _RESTORED.get() and ours:
        with _NothingDrawn():  # type: ignore[no-untyped-call]
            yield
    else:
        with default_rng(generator):
            yield


def forward(module: nn.Module, inputs: Tensor, generator: torch.Generator) -> Tensor:
    """Return the module's output; what it draws, as dropout does, comes from `generator`."""
    source = contextlib.nullcontext() if never_draws(module) else default_rng(generator)
    with source:
        outputs: Tensor = module(inputs)
    return outputs


def never_draws(module: nn.Module) -> bool:
    """Return whether all its layers are known: `default_rng` costs 30 us for each operation."""
    return all(
        type(part) in NEVER_DRAW or type(part).__module__.startswith("scale.models.")
        for part in module.modules()
    )


class _NothingDrawn(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Leaves tensors as they are where they would be filled with random values."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if torch.Tag.nondeterministic_seeded in func.tags and func._schema.is_mutable:
            return args[0]  # what an in-place operation returns
        return func(*args, **(kwargs or {}))


class _DrawFrom(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Gives a generator to every random operation of this thread that has none."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.generator = generator

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if torch.Tag.nondeterministic_seeded not in func.tags or not _on_cpu(args, kwargs):
            return func(*args, **kwargs)
        seeded = _with_generator(func)
        if seeded is None:
            with _swapped(self.generator):
                return func(*args, **kwargs)
        if kwargs.get("generator") is None:
            kwargs = {**kwargs, "generator": self.generator}
        return seeded(*args, **kwargs)


def _on_cpu(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    for value in args:
        if isinstance(value, Tensor):
            return value.device.type == "cpu"
    return torch.device(kwargs.get("device") or "cpu").type == "cpu"


def _with_generator(func: Any) -> Any:
    """Return the overload of an operation that takes a generator; None if there is none."""
    if any(argument.name == "generator" for argument in func._schema.arguments):
        return func
    overload = func._overloadname
    name = "generator" if overload == "default" else f"{overload}_generator"
    return getattr(func.overloadpacket, name, None)


_SWAPPING = threading.Lock()


@contextlib.contextmanager
def _swapped(generator: torch.Generator) -> Iterator[None]:
    """Make torch's default generator draw what `generator` would, for one operation."""
    with _SWAPPING:
        before = torch.default_generator.get_state()
        torch.default_generator.set_state(generator.get_state())
        try:
            yield
        finally:
            generator.set_state(torch.default_generator.get_state())
            torch.default_generator.set_state(before)
