"""Datasets by name: how each is loaded, and its card."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from scale._names import check_text
from scale._registry import Registry
from scale.data._imageset import ImageSet
from scale.data.card import CARDS, PLAIN, DatasetCard

Progress = Callable[[int, int], None]
OnBad = Literal["stop", "skip"]


@dataclass(frozen=True)
class LoadOptions:
    """How to load; `load_dataset` explains each option."""

    label: str | None = None
    image_size: int | None = None
    on_bad: OnBad = "stop"
    progress: Progress | None = None


class Loader(Protocol):
    """A function from a split's name and options to its images."""

    def __call__(self, split: str, options: LoadOptions, /) -> ImageSet: ...


DATASETS: Registry[Loader] = Registry("dataset")


def register_dataset(name: str, card: DatasetCard | None = None) -> Callable[[Loader], Loader]:
    """Return a decorator that registers a loader, so that `load_dataset` finds it by name.

    Parameters
    ----------
    name
        Name of the dataset.
    card
        How the dataset is evaluated and which settings suit it. Without a card, the protocol is
        estimated from the counts and the settings are those for natural images.

    Examples
    --------
    >>> import numpy as np
    >>> from scale.data import ImageSet, load_dataset
    >>> @register_dataset("doctest-blank", card=DatasetCard(stream_batch=32))
    ... def blank(split, options):
    ...     return ImageSet(np.zeros((3, 1, 8, 8), np.uint8), None, (), "blank", "made here")
    >>> len(load_dataset("doctest-blank")), card_for("doctest-blank").stream_batch
    (3, 32)
    """

    def register(loader: Loader) -> Loader:
        DATASETS.register(name)(loader)
        if card is not None:
            CARDS[name] = card
        return loader

    return register


def card_for(dataset: str) -> DatasetCard:
    """Return the card of a dataset by its name or hub id; without one, return `PLAIN`.

    Examples
    --------
    >>> card_for("ylecun/mnist") is card_for("mnist"), card_for("my photos") is PLAIN
    (True, True)
    """
    return CARDS.get(registered_name(dataset), PLAIN)


def registered_name(dataset: str) -> str:
    """Return the name under which a hub id is registered; return anything else unchanged.

    A hub id is also unchanged if only some of its classes are registered.

    Examples
    --------
    >>> registered_name("ylecun/mnist"), registered_name("zh-plus/tiny-imagenet")
    ('mnist', 'zh-plus/tiny-imagenet')
    """
    check_text("dataset", dataset)
    if dataset in DATASETS:  # loads the datasets of other distributions, and with them their cards
        return dataset
    whole = {card.hub_id: name for name, card in CARDS.items() if card.first_classes is None}
    return whole.get(dataset, dataset)
