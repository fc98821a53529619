"""The options of a run: together with the code, they decide its numbers."""

from __future__ import annotations

import dataclasses
import platform
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import tyro

from scale._errors import DamagedFileError, InputError
from scale.methods import DEFAULT_METHOD, METHODS
from scale.runs.run_folder import read_json

CONFIG = "config.json"
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
    own folder that are larger than 64 pixels become 64; others keep their size. Smaller images
    make a run faster."""
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
    params: tyro.conf.Fixed[dict[str, Any]] = field(default_factory=dict)
    """Parameters of the method."""

    def check(self) -> None:
        """Raise `InputError` for a value that is not allowed."""
        for name in ("evaluations", "stream_batch", "samples_per_class", "bank_size", "threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be 1 or more, got {value}")
        if self.threads is not None and self.threads > 1024:  # torch would fail to start them
            raise InputError(f"threads must be 1024 or fewer, got {self.threads}")
        if not 0 <= self.seed < 2**32:  # scikit-learn's limit
            raise InputError(f"seed must be from 0 to {2**32 - 1}, got {self.seed}")

    def to_json(self) -> dict[str, Any]:
        """Return the options as a dict for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def read(cls, folder: Path) -> RunConfig:
        """Return the config of the run in `folder`."""
        described = read_config(folder)
        try:
            config = cls(**described["run"])
            # Find the method's file at its recorded path, independent of the current folder.
            METHODS.locate(config.method, described.get("learner", {}).get("file"))
            return config
        except (KeyError, TypeError) as error:
            raise DamagedFileError(f"{folder / CONFIG} cannot be read: {error}") from error


def read_config(folder: Path) -> dict[str, Any]:
    """Return the record of a run's start: options, learner, data, versions, code."""
    path = folder / CONFIG
    if not path.is_file():
        raise InputError(f"{folder} holds no run: there is no {path.name} in it; check the path")
    return read_json(path, "put back a copy of it, or start again with a new --out")


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
