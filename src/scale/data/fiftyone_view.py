"""Datasets and views of FiftyOne, which is not imported: what they offer is used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scale._errors import InputError
from scale._names import did_you_mean
from scale.data._imageset import ImageSet
from scale.data.arrays import number_labels
from scale.data.cached_images import cached_images
from scale.data.decode import Encoded, Item
from scale.data.registry import LoadOptions

_OFFERS = ("iter_samples", "values", "get_field_schema", "media_type")
_LABEL = "ground_truth"


def is_fiftyone(value: object) -> bool:
    """Return whether `value` is a dataset or a view of FiftyOne, or offers the same."""
    return all(hasattr(value, name) for name in _OFFERS)


def load_fiftyone(view: Any, options: LoadOptions) -> ImageSet:
    """Return the images of a view, decoded into memory; its files stay where they are."""
    files = _files(view)
    labels, names = _labels(view, _label_field(view, options.label))
    encoded = Encoded(
        name=str(getattr(view, "name", None) or type(view).__name__),
        source="a view of FiftyOne",
        total=len(files),
        items=lambda: ((str(file), file) for file in files),
        labels=labels,
        class_names=names,
        identity=(),
        fingerprint="",
    )
    return cached_images(encoded, options, keep=False)


def fiftyone_items(view: Any) -> Iterator[Item]:
    """Yield the files of a view."""
    yield from ((str(file), file) for file in _files(view))


def _files(view: Any) -> list[Path]:
    if view.media_type not in ("image", None):
        raise InputError(
            f"the view has the media type {view.media_type!r}; give one of images, for example "
            "view.select_group_slices(media_type='image') or view.to_frames()"
        )
    files = [Path(one) for one in view.values("filepath")]
    if not files:
        raise InputError("the view has no samples; give one with at least one image")
    return files


def _label_field(view: Any, asked: str | None) -> str | None:
    fields = list(view.get_field_schema())
    if asked is not None and asked not in fields:
        hint = did_you_mean(asked, fields)
        raise InputError(f"the view has no field {asked!r}{hint}; it has: {', '.join(fields)}")
    return asked or (_LABEL if _LABEL in fields else None)


def _labels(view: Any, field: str | None) -> tuple[Any, tuple[str, ...]]:
    """Return labels from a field of classifications, words or whole numbers."""
    if field is None:
        return None, ()
    there = [one for one in view.values(field) if one is not None]
    path = f"{field}.label" if there and hasattr(there[0], "label") else field
    values = view.values(path)
    if not there:
        return None, ()
    if any(value is None for value in values):
        raise InputError(
            f"the label {field!r} is missing in some samples; leave them out with "
            f"view.exists({path!r})"
        )
    if not all(isinstance(value, int | str) for value in values):
        raise InputError(
            f"the field {field!r} must hold one class per image: a Classification, a word or a "
            "whole number; choose another with label="
        )
    return number_labels(values, "the view")
