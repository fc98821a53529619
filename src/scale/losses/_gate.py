"""The one check of the tensors and counts that losses get."""

from __future__ import annotations

import torch
from torch import Tensor

from scale._errors import InputError
from scale._machine import check_memory
from scale._names import shown
from scale._numbers import check_number

MOST = 2**31 - 1  # views that a user can mean
KINDS = {"float": "floats", "bool": "booleans", "whole": "whole numbers"}


def check_tensors(shape: str, kind: str = "float", /, **tensors: Tensor) -> None:
    """Raise `InputError` unless each tensor is dense, of one kind and shape, and not empty.

    Parameters
    ----------
    shape
        Name of each dimension, as in ``"views dim"``. Dimensions of one name have one size, in all
        tensors of the call.
    kind
        ``"float"``, ``"bool"`` or ``"whole"``.

    Examples
    --------
    >>> check_tensors("views views", dots=torch.zeros(4, 3))
    Traceback (most recent call last):
        ...
    scale._errors.InputError: dots must have shape (views, views), got (4, 3)
    """
    names = shape.split()
    sizes: dict[str, int] = {}
    first: tuple[str, Tensor] | None = None
    for name, tensor in tensors.items():
        _check_kind(name, tensor, kind)
        found = tuple(tensor.shape)
        fits = len(found) == len(names) and all(
            size > 0 and sizes.setdefault(one, size) == size
            for one, size in zip(names, found, strict=True)
        )
        if not fits:
            others = "" if first is None else f", as {first[0]} with {tuple(first[1].shape)}"
            raise InputError(
                f"{name} must have shape ({', '.join(names)}){others}, got {shown(found)}"
            )
        if first is not None and not torch.is_autocast_enabled(tensor.device.type):
            _check_alike(name, tensor, *first)
        first = first or (name, tensor)


def check_views(n: int, rows: int, *, of: str = "views") -> None:
    """Raise `InputError` unless `n` images, or two views of each, are among `rows`."""
    check_number("n", n, least=0, most=rows // (2 if of == "views" else 1), whole=True)


def check_stacked(name: str, views: int, n: int, *, memory: int = 1) -> None:
    """Raise `InputError` unless two views of `n` and of `memory` or more images make `views`."""
    if views % 2:
        raise InputError(f"{name} must have two rows an image, got {views} rows")
    check_number("n", n, least=memory, most=views // 2 - memory, whole=True)


def check_counts(**counts: int) -> None:
    """Raise `InputError` unless each is a whole number, and their pairs fit into memory."""
    for name, count in counts.items():
        check_number(name, count, least=0, most=MOST, whole=True)
    total = sum(counts.values())
    what = f"a mask of {total} x {total} views"
    check_memory(total**2, what, f"lower {' and '.join(counts)}")


def check_device(device: torch.device | None) -> None:
    """Raise `InputError` unless `device` is one of torch, or None."""
    if not (device is None or isinstance(device, torch.device)):
        raise InputError(f"device must be a torch.device or None, got {shown(device)}")


def _check_kind(name: str, tensor: object, kind: str) -> None:
    if not isinstance(tensor, Tensor):
        raise InputError(f"{name} must be a tensor, got {shown(tensor)}")
    if tensor.layout != torch.strided or tensor.device.type == "meta":
        raise InputError(f"{name} must be a dense tensor with data, got {_about(tensor)}")
    found = "float" if tensor.is_floating_point() else "complex" if tensor.is_complex() else "whole"
    if ("bool" if tensor.dtype == torch.bool else found) != kind:
        raise InputError(f"{name} must hold {KINDS[kind]}, got {_about(tensor)}")


def _check_alike(name: str, tensor: Tensor, other: str, first: Tensor) -> None:
    """Raise `InputError` unless two tensors can be computed with each other."""
    if (tensor.dtype, tensor.device) != (first.dtype, first.device):
        raise InputError(
            f"{name} and {other} must have one dtype and be on one device, got {_about(tensor)} "
            f"and {_about(first)}"
        )


def _about(tensor: Tensor) -> str:
    return f"{tensor.dtype}, {tensor.layout}, on {tensor.device}"
