"""Datasets of the Hugging Face hub: which are registered, and where their files are."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

from scale._errors import InputError, ScaleError
from scale.data._imageset import ImageSet
from scale.data.cache import cache_folder
from scale.data.card import CARDS, DatasetCard
from scale.data.parquet import find_splits, load_parquet_folder
from scale.data.registry import DATASETS, LoadOptions, Progress

UNFINISHED = ".unfinished"  # a file that is in a dataset's folder until all files have arrived
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True)
class HubDataset:
    """Loads a dataset from the parquet files of its hub id.

    Parameters
    ----------
    name
        Registered name; the hub id itself for a dataset that is not registered.
    hub_id
        ``owner/name`` on the hub.
    card
        Which label and which classes to load.
    """

    name: str
    hub_id: str
    card: DatasetCard = field(default_factory=DatasetCard)

    def __call__(self, split: str, options: LoadOptions) -> ImageSet:
        folder = find_hub_folder(self.hub_id)
        if folder is None:
            folder = self.download(options.progress)
        options = replace(options, label=options.label or self.card.label)
        return load_parquet_folder(folder, split, options, self.name, self.card.first_classes)

    def download(self, progress: Progress | None) -> Path:
        """Download a registered dataset. A bare hub id could be a mistyped path: refuse it."""
        if self.name == self.hub_id or find_spec("huggingface_hub") is None:
            raise _not_found(self.name, self.hub_id)
        from scale.data.download import get_dataset

        try:
            return get_dataset(self.hub_id, progress=progress)
        except ScaleError as error:
            raise ScaleError(f"{_searched(self.name, self.hub_id)}, and {error}") from error


for _name, _card in CARDS.items():
    if _card.hub_id is not None:
        DATASETS.register(_name)(HubDataset(_name, _card.hub_id, _card))


def is_hub_id(text: str) -> bool:
    """Return whether `text` has the form ``owner/name``.

    Examples
    --------
    >>> is_hub_id("uoft-cs/cifar10"), is_hub_id("../cifar10"), is_hub_id("cifar10")
    (True, False, False)
    """
    return _HUB_ID.fullmatch(text) is not None and ".." not in text


def download_folder(hub_id: str) -> Path:
    """Return the folder into which `hub_id` is downloaded."""
    return cache_folder() / "hub" / hub_id


def find_hub_folder(hub_id: str) -> Path | None:
    """Return the first folder that has all parquet files of `hub_id`, or None."""
    for place in _places(hub_id):
        if find_splits(place) and not (place / UNFINISHED).exists():
            return place
    return None


def _not_found(name: str, hub_id: str) -> InputError:
    extra = " (after pip install 'scale-lifelong[hub]')"
    needed = extra if find_spec("huggingface_hub") is None else ""
    return InputError(f"{_searched(name, hub_id)}; get it with `scale data get {name}`{needed}")


def _searched(name: str, hub_id: str) -> str:
    places = " nor in ".join(str(place) for place in _places(hub_id))
    unset = "" if os.environ.get("SCALE_DATA") else " (and SCALE_DATA is not set)"
    return f"{name} is not in {places}{unset}"


def _places(hub_id: str) -> list[Path]:
    own = os.environ.get("SCALE_DATA")
    return [*([Path(own) / hub_id] if own else []), download_folder(hub_id)]
