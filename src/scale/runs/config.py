"""The options of a run: together with the code, they decide its numbers."""

from __future__ import annotations

import dataclasses
import os
import platform
import typing
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro

from scale._errors import DamagedFileError, InputError
from scale._files import as_path
from scale._numbers import LARGEST_SEED, check_number
from scale._schema import misfit
from scale.methods import DEFAULT_METHOD, METHODS
from scale.runs.run_folder import CONFIG_REMEDY, no_run, read_json

CONFIG = "config.json"
MANY = 2**31 - 1
RANGES = {
    "seed": (0, LARGEST_SEED),
    "image_size": (1, 8192),
    "stream_batch": (1, MANY),
    "samples_per_class": (1, MANY),
    "evaluations": (1, 1_000_000),
    "bank_size": (1, MANY),
    "threads": (1, 1024),  # torch fails to start more
}
"""Smallest and largest value of the options that are numbers."""
PACKAGES = ("scale-lifelong", "torch", "numpy", "scipy", "scikit-learn", "pillow", "safetensors")


@dataclass(kw_only=True)
class RunConfig:
    """One run: a dataset in the order of a stream, learned by one method, with evaluations."""

    dataset: str = "digits"
    """Name of a dataset, hub id, folder of images, .npy or .npz."""
    stream: str = "seq"
    """Order of the images; use as-is for data without labels."""
    method: str = DEFAULT_METHOD
    """The learner: a name, or a file of your own (path.py, path.py:Class). Its parameters are
    options too."""
    seed: int = 0
    """Seed of the stream, the evaluation sets and the learner. Use several to estimate the spread
    of a result."""
    label: str | None = None
    """Label column of a hub dataset, for example fine_label."""
    image_size: int | None = None
    """Resize images to this side: scale the short side, crop the centre. By default, images of your
    own folder that are larger than 64 pixels become 64, or the side that suits pretrained weights;
    others keep their size. Smaller images make a run faster."""
    on_bad: Literal["stop", "skip"] = "stop"
    """Stop at a file that is not a readable image, or skip it."""
    stream_batch: int | None = None
    """Images in a stream batch (the paper's n). Default: the dataset's, or 128."""
    samples_per_class: int | None = None
    """Images of each class in the stream (the paper's U); a smaller class gives all it has.
    Default: the dataset's, or all images. Lower it for a quick run."""
    class_order: Literal["natural", "seeded"] = "natural"
    """Classes arrive by their number, or in an order drawn from the seed."""
    evaluations: int = 10
    """Number of evaluations along the stream, the last one at its end. Fewer are faster."""
    bank_size: int | None = None
    """Labelled images in the bank of the kNN and the linear probe. Default: the dataset's, or 100 a
    class and at most 5000."""
    validation: bool = False
    """Evaluate on images held out of the train split. Use it to choose settings."""
    threads: int | None = None
    """Threads of torch. Default: torch's, usually one per core; a resumed run keeps its number."""
    start_from: Annotated[str | None, tyro.conf.arg(name="from")] = None
    """Go on from a learner that exists: a saved learner, or the folder of a run. Its method and
    parameters are taken over."""
    start_digest: tyro.conf.Fixed[str | None] = None
    """First 16 digits of the SHA-256 of that learner's file, recorded when a run begins."""
    params: tyro.conf.Fixed[dict[str, Any]] = field(default_factory=dict)
    """Parameters of the method."""

    def __post_init__(self) -> None:
        """Turn numpy's numbers into plain ones, for JSON, and the start's path into a whole one."""
        for name, value in vars(self).items():
            if isinstance(value, np.generic):
                setattr(self, name, value.item())
        if isinstance(self.start_from, str | os.PathLike):
            self.start_from = str(Path(self.start_from).expanduser().absolute())

    def check(self) -> None:
        """Raise `InputError` for a value that is not allowed."""
        for name, hint in typing.get_type_hints(type(self)).items():
            wanted = misfit(getattr(self, name), hint)
            if wanted is not None:
                raise InputError(f"{name} must be {wanted}, got {getattr(self, name)!r}")
        for name, (least, most) in RANGES.items():
            value = getattr(self, name)
            if value is not None:
                check_number(name, value, least=least, most=most, whole=True)

    def to_json(self) -> dict[str, Any]:
        """Return the options as a dict for JSON; a start only for a run that goes on from one."""
        options = dataclasses.asdict(self)
        if self.start_from is None:
            del options["start_from"], options["start_digest"]
        return options

    @classmethod
    def read(cls, folder: Path) -> RunConfig:
        """Return the config of the run in `folder`."""
        described = read_config(folder)
        try:
            config = cls(**described["run"])
            config.check()
            # Find the method's file at its recorded path, independent of the current folder.
            METHODS.locate(config.method, (described.get("learner") or {}).get("file"))
        except (TypeError, InputError) as error:
            raise DamagedFileError(
                f"{folder / CONFIG} cannot be read ({error}); {CONFIG_REMEDY}"
            ) from error
        return config


def read_config(folder: Path) -> dict[str, Any]:
    """Return the record of a run's start: options, learner, data, versions, code."""
    path = as_path("folder", folder) / CONFIG
    if not path.is_file():
        raise InputError(no_run(folder))
    return read_json(path, CONFIG_REMEDY)


def has_begun(folder: Path) -> bool:
    """Return whether `folder` holds a run that can be resumed."""
    return (folder / CONFIG).exists() or any((folder / "checkpoints").glob("[0-9]*"))


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that can change a result."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found
