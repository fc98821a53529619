"""Objects of the package `datasets`, which is not imported: what they offer is used."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scale._errors import InputError
from scale._names import did_you_mean
from scale.data._imageset import ImageSet
from scale.data.arrays import number_labels
from scale.data.cached_images import cached_images
from scale.data.decode import Encoded, Item
from scale.data.registry import LoadOptions
from scale.data.splits import match_split

_MODULES = ("datasets.arrow_dataset", "datasets.iterable_dataset", "datasets.dataset_dict")


def is_hf_dataset(value: object) -> bool:
    """Return whether `value` is a Dataset, IterableDataset or a dict of them by split."""
    return any(one.__module__ in _MODULES for one in type(value).__mro__)


def load_hf_dataset(dataset: Any, split: str, options: LoadOptions) -> ImageSet:
    """Return the images of a `Dataset`, decoded into memory; nothing is written.

    Encoded images are read, so a format or a transform of the dataset is not applied.
    """
    kind = type(dataset).__name__
    if isinstance(dataset, Mapping):
        dataset = dataset[match_split(split, list(dataset), f"the {kind}")]
    else:
        match_split(split, ["train"], f"an object of type {kind}")
    if not hasattr(dataset, "num_rows"):
        raise InputError(
            f"a {type(dataset).__name__} has no length; learn from it with scale.batches(it, n), "
            "or give a Dataset"
        )
    if not len(dataset):
        raise InputError(f"the {kind} has no rows; give at least one")
    image = _image_column(dataset.features)
    label = _label_column(dataset.features, image, options.label)
    labels, names = _labels(dataset, label)
    encoded = Encoded(
        name=kind,
        source="an object in memory",
        total=len(dataset),
        items=lambda: _rows(dataset, image),
        labels=labels,
        class_names=names,
        identity=(),
        fingerprint="",
    )
    return cached_images(encoded, options, keep=False)


def hf_items(dataset: Any) -> Iterator[tuple[str, Any]]:
    """Yield the images of a Dataset or IterableDataset one by one: encoded, or as they are."""
    if isinstance(dataset, Mapping):
        raise InputError(
            f"a {type(dataset).__name__} has several splits ({', '.join(dataset)}); give one"
        )
    if dataset.features is not None:
        yield from _rows(dataset, _image_column(dataset.features))
        return
    image = ""  # a stream without a description: the first row shows which column it is
    for at, row in enumerate(dataset):
        image = image or _column_of_row(row)
        yield f"row {at} of the dataset", _encoded(row[image])


def _rows(dataset: Any, image: str) -> Iterator[Item]:
    feature = copy.copy(dataset.features[image])
    plain = dataset.with_format(None).select_columns([image])
    if hasattr(feature, "decode"):
        feature.decode = False
        plain = plain.cast_column(image, feature)
    for at, row in enumerate(plain):
        yield f"row {at} of the dataset", _encoded(row[image])


def _encoded(value: Any) -> Any:
    """Return what a cell holds: bytes, the path of a file, or an image as it is."""
    if value is None:
        return b""
    if not isinstance(value, Mapping):
        return value
    if value.get("bytes") is not None:
        return value["bytes"]
    return Path(value["path"]) if value.get("path") else b""


def _image_column(features: Mapping[str, Any]) -> str:
    described = [name for name, one in features.items() if _kind(one) == "Image"]
    binary = [
        name for name in ("image", "img") if getattr(features.get(name), "dtype", "") == "binary"
    ]
    if not (described or binary):
        raise InputError(
            f"the dataset has no column of images; it has: {', '.join(features) or 'none'}. Cast "
            "one with dataset.cast_column(name, datasets.Image())"
        )
    return (described or binary)[0]


def _column_of_row(row: Mapping[str, Any]) -> str:
    for name, value in row.items():
        if hasattr(value, "convert") or (isinstance(value, Mapping) and "bytes" in value):
            return name
    for name in ("image", "img"):
        if name in row:
            return name
    raise InputError(f"the rows of the dataset have no image; they have: {', '.join(row)}")


def _label_column(features: Mapping[str, Any], image: str, asked: str | None) -> str | None:
    others = [name for name in features if name != image]
    if asked is not None and asked not in others:
        hint = did_you_mean(asked, others)
        known = ", ".join(others) or "none"
        raise InputError(f"the dataset has no label column {asked!r}{hint}; it has: {known}")
    if asked is not None or "label" in others:
        return asked or "label"
    classes = [name for name in others if _kind(features[name]) == "ClassLabel"]
    if len(classes) > 1:
        raise InputError(
            f"the dataset has several labels ({', '.join(classes)}); choose one with label="
        )
    return classes[0] if classes else None


def _labels(dataset: Any, label: str | None) -> tuple[Any, tuple[str, ...]]:
    if label is None:
        return None, ()
    values = dataset.with_format(None).select_columns([label])[:][label]
    if any(value is None for value in values):
        raise InputError(f"the label {label!r} is missing in some rows; fill in or drop them")
    if all(value == -1 for value in values):
        return None, ()  # The hub marks an unlabelled test split this way.
    if not all(isinstance(value, int | str) for value in values):
        raise InputError(
            f"the label {label!r} must be whole numbers or words; choose another with label="
        )
    names = tuple(getattr(dataset.features[label], "names", None) or ())
    return number_labels(values, "the dataset", names)


def _kind(feature: Any) -> str:
    return str(getattr(feature, "_type", type(feature).__name__))
