"""Objects like a torch Dataset: `len()`, and items that are an image or (image, label)."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

from scale._errors import InputError
from scale._images import as_array, as_uint8, channels_first
from scale.data._imageset import ImageSet
from scale.data.arrays import number_labels
from scale.data.decode import Skipped, refuse
from scale.data.pixels import Pixels, resize_all, stack_pixels, to_pixels, to_rgb
from scale.data.registry import LoadOptions


def load_torch_dataset(dataset: Any, options: LoadOptions) -> ImageSet:
    """Return all items of `dataset`, read into memory."""
    name = type(dataset).__name__
    if options.label is not None:
        raise InputError(f"{name} is an object: its items carry the label, leave label out")
    try:
        total = len(dataset)
    except Exception as error:  # the dataset's own code may raise anything
        raise InputError(f"the len() of {name} fails ({error}); give a list of images") from error
    if total == 0:
        raise InputError(f"{name} has no items; give at least one")
    rows: list[Pixels] = []
    labels: list[Any] = []
    skipped: list[str] = []
    for index in range(total):
        try:
            pixels, label = _read_item(dataset[index], f"item {index} of {name}", options)
        except InputError:
            raise
        except Exception as error:  # the dataset's own code may raise anything
            if options.on_bad == "stop":
                raise refuse(Skipped(index, f"item {index} of {name}", str(error))) from error
            skipped.append(f"item {index} of {name}")
        else:
            rows.append(pixels)
            labels.append(label)
        if options.progress is not None:
            options.progress(index + 1, total)
    if not rows:
        raise InputError(f"none of the {total} items of {name} can be read; check its items")
    return _assemble(dataset, rows, labels, skipped)


def _assemble(dataset: Any, rows: list[Pixels], labels: list[Any], skipped: list[str]) -> ImageSet:
    name = type(dataset).__name__
    if any(pixels.ndim == 3 for pixels in rows):
        rows = [to_rgb(pixels) for pixels in rows]
    for pixels in rows:
        if pixels.shape != rows[0].shape:
            raise InputError(
                f"the items of {name} have different shapes ({rows[0].shape}, {pixels.shape}); "
                f"pass image_size to resize all, and give all the same channels"
            )
    images = stack_pixels(rows)
    if any(label is None for label in labels):
        return ImageSet(images, None, (), name, "an object in memory", tuple(skipped))
    given = getattr(dataset, "classes", None)
    names = tuple(str(one) for one in given) if isinstance(given, list | tuple) else ()
    numbers, names = number_labels([_plain(label) for label in labels], name, names)
    return ImageSet(images, numbers, names, name, "an object in memory", tuple(skipped))


def _read_item(item: Any, name: str, options: LoadOptions) -> tuple[Pixels, Any]:
    image, label = item if isinstance(item, tuple | list) and len(item) == 2 else (item, None)
    if isinstance(image, Image.Image):
        return to_pixels(image, options.image_size), label
    return _array_pixels(_plain(image), name, options.image_size), label


def _array_pixels(values: Any, name: str, image_size: int | None) -> Pixels:
    """Return (H, W) or (H, W, C) from an array H x W, H x W x C or C x H x W."""
    if not isinstance(values, np.ndarray) or values.ndim not in (2, 3) or values.size == 0:
        raise InputError(f"{name} is not an image: give a Pillow image, or an array H x W x C")
    images = values[None, None] if values.ndim == 2 else channels_first(values[None], name=name)
    images = as_uint8(images, name, floats=True)
    if image_size is not None:
        images = resize_all(images, image_size)
    hwc = images[0].transpose(1, 2, 0)
    return hwc[..., 0] if hwc.shape[2] == 1 else np.ascontiguousarray(hwc)


def _plain(value: Any) -> Any:
    """Return a tensor as an array, anything else unchanged."""
    return as_array(value) if hasattr(value, "detach") else value
