"""Datasets by name, and what a loader is asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from scale._registry import Registry
from scale.data._imageset import ImageSet

Progress = Callable[[int, int], None]
OnBad = Literal["stop", "skip"]


@dataclass(frozen=True)
class LoadOptions:
    """How to load: see `load_dataset` for the meaning of each."""

    label: str | None = None
    image_size: int | None = None
    on_bad: OnBad = "stop"
    progress: Progress | None = None


class Loader(Protocol):
    """A function from a split's name and options to its images."""

    def __call__(self, split: str, options: LoadOptions, /) -> ImageSet: ...


DATASETS: Registry[Loader] = Registry("dataset")


def register_dataset(name: str) -> Callable[[Loader], Loader]:
    """Return a decorator that makes its loader known to `load_dataset` as `name`.

    Examples
    --------
    >>> import numpy as np
    >>> from scale.data import ImageSet, load_dataset
    >>> @register_dataset("doctest-blank")
    ... def blank(split, options):
    ...     return ImageSet(np.zeros((3, 1, 8, 8), np.uint8), None, (), "blank", "made here")
    >>> len(load_dataset("doctest-blank"))
    3
    """
    return DATASETS.register(name)
