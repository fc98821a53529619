"""Datasets of the Hugging Face hub: which are known by name, and where they are looked for."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from scale._errors import InputError, ScaleError
from scale.data._imageset import ImageSet
from scale.data.cache import cache_folder
from scale.data.parquet import find_splits, load_parquet_folder
from scale.data.registry import DATASETS, LoadOptions, Progress

UNFINISHED = ".unfinished"  # stands in a folder while not all of its files have arrived
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")


@dataclass(frozen=True)
class HubDataset:
    """A dataset that lies in parquet files under its hub id.

    Parameters
    ----------
    name, hub_id
        What we call it and what the hub does.
    label
        The label column when the caller names none; None leaves the choice to the file.
    first_classes
        Keep only that many classes; None keeps all.
    """

    name: str
    hub_id: str
    label: str | None = None
    first_classes: int | None = None

    def __call__(self, split: str, options: LoadOptions) -> ImageSet:
        folder = find_hub_folder(self.hub_id)
        if folder is None:
            folder = self._download(options.progress)
        options = replace(options, label=options.label or self.label)
        return load_parquet_folder(folder, split, options, self.name, self.first_classes)

    def _download(self, progress: Progress | None) -> Path:
        """Get a dataset that is known by name; a hub id may be a path that was mistyped."""
        if self.name == self.hub_id or find_spec("huggingface_hub") is None:
            raise not_here(self.name, self.hub_id)
        from scale.data.download import get_dataset

        try:
            return get_dataset(self.hub_id, progress=progress)
        except ScaleError as error:
            raise ScaleError(f"{_nowhere(self.name, self.hub_id)}, and {error}") from error


for _known in (
    HubDataset("cifar10", "uoft-cs/cifar10"),
    HubDataset("cifar100", "uoft-cs/cifar100", label="coarse_label"),
    HubDataset("mnist", "ylecun/mnist"),
    HubDataset("tinyimagenet10", "zh-plus/tiny-imagenet", label="label", first_classes=10),
):
    DATASETS.register(_known.name)(_known)


def is_hub_id(text: str) -> bool:
    """Say whether `text` reads like ``owner/name``.

    Examples
    --------
    >>> is_hub_id("uoft-cs/cifar10"), is_hub_id("../cifar10"), is_hub_id("cifar10")
    (True, False, False)
    """
    return _HUB_ID.fullmatch(text) is not None and ".." not in text


def registered_name(dataset: str) -> str:
    """Return the name under which the dataset of a hub id is registered; others as they are.

    A part of a hub's dataset is not that dataset.

    Examples
    --------
    >>> registered_name("ylecun/mnist"), registered_name("zh-plus/tiny-imagenet")
    ('mnist', 'zh-plus/tiny-imagenet')
    """
    for name in DATASETS:
        known = DATASETS[name]
        if isinstance(known, HubDataset) and known.hub_id == dataset and not known.first_classes:
            return name
    return dataset


def download_folder(hub_id: str) -> Path:
    """Return where downloaded files of `hub_id` are kept."""
    return cache_folder() / "hub" / hub_id


def find_hub_folder(hub_id: str) -> Path | None:
    """Return the first place that has all parquet files of `hub_id`, or None."""
    for place in _places(hub_id):
        if find_splits(place) and not (place / UNFINISHED).exists():
            return place
    return None


def not_here(name: str, hub_id: str) -> InputError:
    """Return the error for a dataset that is in none of the places."""
    extra = " (after pip install 'scale-lifelong[hub]')"
    needed = extra if find_spec("huggingface_hub") is None else ""
    return InputError(f"{_nowhere(name, hub_id)}; get it with `scale data get {name}`{needed}")


def _nowhere(name: str, hub_id: str) -> str:
    places = " nor in ".join(str(place) for place in _places(hub_id))
    unset = "" if os.environ.get("SCALE_DATA") else " (and SCALE_DATA is not set)"
    return f"{name} is not in {places}{unset}"


def _places(hub_id: str) -> list[Path]:
    own = os.environ.get("SCALE_DATA")
    return [*([Path(own) / hub_id] if own else []), download_folder(hub_id)]
