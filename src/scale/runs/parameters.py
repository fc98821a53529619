"""Merge a method's defaults, a dataset's card, a preset and the user's values, in one place."""

from __future__ import annotations

import contextlib
import dataclasses
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from scale._errors import InputError, ScaleError
from scale._names import did_you_mean
from scale.data import DATASETS, card_for, image_files
from scale.data.video import SUFFIXES as VIDEOS
from scale.data.webdataset import first_images
from scale.methods import METHODS, Learner
from scale.models import is_pretrained, read_pretrained
from scale.runs.config import RunConfig

OWN_SIDE = 64
"""Side that larger images of a user's own folder are resized to."""
LOOKED_AT = 16  # files to try until one is a readable image


def parameters(
    method: str,
    dataset: str,
    preset: str | None = None,
    given: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return all parameters of a method on a dataset, without the seed.

    Later values override earlier ones: the method's defaults, the dataset's card, the preset,
    `given`.

    Parameters
    ----------
    method
        Name of the method.
    dataset
        Name, hub id or path; data without a card is treated like natural images.
    preset
        Name of one of the method's presets.
    given
        The user's values.

    Examples
    --------
    >>> parameters("scale", "digits", "paper", {"mu": 0.2})["mu"]
    0.2
    """
    kind = METHODS[method]
    _check_preset(kind, preset)
    names = parameter_names(kind)
    of_dataset = {k: v for k, v in card_for(dataset).params.items() if k in names}
    of_preset = kind.presets[preset] if preset is not None else {}
    values = {**of_dataset, **of_preset, **(given or {})}
    for name in values:
        if name not in names:
            raise InputError(
                f"{method} has no parameter {name!r}{did_you_mean(name, names)} "
                f"(known: {', '.join(sorted(names))})"
            )
    learner = kind(**values)
    learner.check_params()  # before any data is read
    found = learner.get_params()
    del found["seed"]
    return found


def default_parameters(dataset: str, method: str) -> dict[str, Any]:
    """Return the default parameters of a method on a dataset, without the seed."""
    return parameters(method, dataset)


def default_stream_batch(dataset: str) -> int:
    """Return the default number of images in a stream batch."""
    return card_for(dataset).stream_batch


def default_image_size(dataset: str, params: Mapping[str, Any] | None = None) -> int | None:
    """Return the default side that images are resized to; None keeps their size.

    Only images of a user's own folder, shards or video are resized, if the first is larger than 64
    pixels a side, or than the side that suits the pretrained weights among `params`.
    """
    if Path(dataset).is_file() and Path(dataset).suffix.lower() in VIDEOS:
        return _largest_side(params or {})
    files: list[Path | io.BytesIO] = []
    with contextlib.suppress(ScaleError, OSError):  # `load_dataset` reports it
        files = [*(image_files(dataset) or ())[:LOOKED_AT]]
        if not files and dataset not in DATASETS:
            files = [io.BytesIO(one) for one in first_images(dataset, LOOKED_AT)]
    for file in files:
        unreadable = (OSError, ValueError, Image.DecompressionBombError)
        with contextlib.suppress(*unreadable), Image.open(file) as image:
            largest = _largest_side(params or {})
            return largest if min(image.size) > largest else None
    return None


def _largest_side(params: Mapping[str, Any]) -> int:
    """Return the side that images of a user's own folder are resized to if they are larger."""
    encoder = params.get("encoder")
    if not is_pretrained(encoder):
        return OWN_SIDE
    suited = params.get("encoder_side") or OWN_SIDE
    with contextlib.suppress(ScaleError):  # a learner that exists needs the file no more
        suited = params.get("encoder_side") or read_pretrained(str(encoder))[0].least_side
    return max(OWN_SIDE, suited)


def parameter_names(method: type[Learner]) -> set[str]:
    """Return the names of a method's parameters, without the seed."""
    return {field.name for field in dataclasses.fields(method)} - {"seed"}


def complete(config: RunConfig) -> RunConfig:
    """Return `config` with all parameters, the stream batch and the image size written out."""
    params = parameters(config.method, config.dataset, given=config.params)
    return dataclasses.replace(
        config,
        params=params,
        stream_batch=config.stream_batch or default_stream_batch(config.dataset),
        image_size=config.image_size or default_image_size(config.dataset, params),
    )


def _check_preset(method: type[Learner], preset: str | None) -> None:
    if preset is None or preset in method.presets:
        return
    known = ", ".join(method.presets) or "none"
    owners = [name for name in METHODS if preset in METHODS[name].presets]
    hint = f"; did you mean --method {owners[0]}?" if owners else ""
    raise InputError(f"{method.name} has no preset {preset!r} (known: {known}){hint}")
