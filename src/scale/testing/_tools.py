"""Tools for all checks: errors for broken rules, and comparisons bit for bit."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

PLAIN = (bool, int, float, str, bytes, type(None), torch.dtype, torch.device)


def require(kept: bool, broken: str) -> None:
    """Raise an `AssertionError` with the text `broken` unless the rule is kept."""
    if not kept:
        raise AssertionError(broken)


def global_random_state() -> tuple[Any, ...]:
    """Return the state of the global generators, comparable with ==."""
    numpy_state = str(np.random.get_state(legacy=False))  # noqa: NPY002
    return random.getstate(), numpy_state, torch.get_rng_state().tolist()


def disturb_global_generators() -> None:
    """Draw from the global generators; no result may depend on them."""
    random.random()
    np.random.random(5)  # noqa: NPY002
    torch.rand(5)


def same_bits(a: Tensor, b: Tensor) -> bool:
    """Return whether two tensors are equal bit for bit, NaN included."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    as_bytes = [t.detach().cpu().contiguous().reshape(-1).view(torch.uint8) for t in (a, b)]
    return torch.equal(*as_bytes)


def differences(a: dict[str, Any], b: dict[str, Any]) -> list[str]:
    """Return the names of the values that are not equal, tensors bit for bit."""
    return sorted(
        name
        for name in a.keys() | b.keys()
        if name not in a or name not in b or not _same(a[name], b[name])
    )


def listed(names: Iterable[str], most: int = 3) -> str:
    """Return a few names for a sentence.

    Examples
    --------
    >>> listed(["a", "b", "c", "d", "e"])
    'a, b, c and 2 more'
    """
    shown = list(names)
    more = len(shown) - most
    return ", ".join(shown[:most]) + (f" and {more} more" if more > 0 else "")


def held_by(owner: object) -> dict[str, Any]:
    """Return every number, text, tensor and generator in an object, by its path."""
    found: dict[str, Any] = {}
    seen: dict[int, object] = {}
    ahead: list[tuple[str, Any]] = sorted(vars(owner).items())
    while ahead:
        place, thing = ahead.pop()
        if isinstance(thing, PLAIN):
            found[place] = thing
        elif id(thing) not in seen:
            seen[id(thing)] = thing  # kept alive, so that no other object gets its id
            value = _as_tensor(thing)
            if value is not None:
                found[place] = value.detach().clone()
            else:
                ahead += [(f"{place}.{name}", part) for name, part in _parts_of(thing)]
    return found


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return same_bits(a, b)
    return type(a) is type(b) and bool(a == b or (a != a and b != b))


def _as_tensor(thing: Any) -> Tensor | None:
    if isinstance(thing, Tensor):
        return thing
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        return torch.from_numpy(np.ascontiguousarray(thing).view(np.uint8).copy())
    if isinstance(thing, torch.Generator):
        return thing.get_state()
    return None


def _parts_of(thing: Any) -> list[tuple[str, Any]]:
    if isinstance(thing, np.random.Generator):
        return [("state", str(thing.bit_generator.state))]
    if isinstance(thing, nn.Module):
        tables = {**thing._parameters, **thing._buffers, **thing._modules}
        own = {name: part for name, part in vars(thing).items() if not name.startswith("_")}
        return [*tables.items(), *own.items()]
    if isinstance(thing, torch.optim.Optimizer):
        parameters = [p for group in thing.param_groups for p in group["params"]]
        return [(str(i), dict(thing.state[p])) for i, p in enumerate(parameters)]
    if isinstance(thing, dict):
        return [(k if isinstance(k, str) else str(i), v) for i, (k, v) in enumerate(thing.items())]
    if isinstance(thing, list | tuple | set | frozenset):
        return [(str(i), part) for i, part in enumerate(thing)]
    if isinstance(thing, type) or callable(thing):
        return []
    return sorted(getattr(thing, "__dict__", {}).items())
