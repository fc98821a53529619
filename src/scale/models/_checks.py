"""Checks of the sizes of networks, before anything is allocated."""

from __future__ import annotations

from collections.abc import Sequence

from scale._errors import InputError
from scale._names import shown
from scale._numbers import check_number

LARGEST = 2**15  # a square matrix of this side has 4 GB


def check_dim(name: str, value: object) -> None:
    """Raise `InputError` unless `value` can be the dimension of a layer.

    Examples
    --------
    >>> check_dim("width", 64)
    """
    check_number(name, value, least=1, most=LARGEST, whole=True)


def check_network(image_shape: object, width: object, units: object) -> None:
    """Raise `InputError` unless these can be the sizes of a trunk or a decoder."""
    check_dim("width", width)
    for name, values in (("image_shape", image_shape), ("units", units)):
        if not isinstance(values, Sequence) or isinstance(values, str | bytes):
            raise InputError(f"{name} must be a sequence of whole numbers, got {shown(values)}")
        for value in values:
            check_dim(name, value)
    if len(image_shape) != 3:  # type: ignore[arg-type]
        got = shown(image_shape)
        raise InputError(f"image_shape must be channels, height and width, got {got}")
