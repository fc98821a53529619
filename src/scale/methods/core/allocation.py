"""A limit on single tensors, for sizes that come from a user or a file."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from scale._errors import InputError
from scale._machine import in_words

FACTORIES = {torch.empty, torch.zeros, torch.ones, torch.full, torch.rand, torch.randn, torch.eye}


class AtMost(TorchFunctionMode):
    """Within the block, a new tensor above `limit` bytes is refused before it is allocated.

    Parameters
    ----------
    limit
        Most bytes of one tensor.
    why
        End of the message: what the limit is.

    Examples
    --------
    >>> with AtMost(1000, "the file holds 1 kB"):
    ...     _ = torch.empty(30, 10)
    Traceback (most recent call last):
        ...
    scale._errors.InputError: a tensor of shape 30 x 10 needs 1.2 kB, but the file holds 1 kB
    """

    def __init__(self, limit: float, why: str) -> None:
        super().__init__()
        self.limit, self.why = limit, why

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        options = kwargs or {}
        if func in FACTORIES:
            shape = _shape(func, args, options)
            dtype = options.get("dtype") or torch.get_default_dtype()
            if math.prod(shape) * dtype.itemsize > self.limit:
                size = in_words(math.prod(shape) * dtype.itemsize)
                sides = " x ".join(map(str, shape))
                raise InputError(f"a tensor of shape {sides} needs {size}, but {self.why}")
        return func(*args, **options)


def _shape(
    func: Callable[..., Any], args: tuple[Any, ...], options: Mapping[str, Any]
) -> tuple[int, ...]:
    given = args or (options.get("size", ()),)
    if func is torch.eye:
        return (int(given[0]), int(given[-1]))
    if func is torch.full or isinstance(given[0], Sequence):
        given = tuple(given[0])
    return tuple(int(side) for side in given)
