"""Everything that decides the outcome of a run."""

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
from scale.runs.record import read_json

CONFIG = "config.json"
PACKAGES = ("scale-lifelong", "torch", "numpy", "scipy", "scikit-learn", "pillow", "safetensors")


@dataclass(kw_only=True)
class RunConfig:
    """One run: a dataset in the order of a stream, through one method, evaluated on the way."""

    dataset: str = "digits"
    """Name (digits, cifar10, cifar100, tinyimagenet10, mnist), hub id, folder, .npy or .npz."""
    stream: str = "seq"
    """Order of arrival: iid, seq, seq-bl, seq-im, seq-cc; as-is for data without labels."""
    method: str = DEFAULT_METHOD
    """The learner: a name, or a file of your own (path.py, path.py:Class). Its parameters are
    options too."""
    seed: int = 0
    """Seed of the stream, the evaluation sets and the learner."""
    label: str | None = None
    """Label column of a hub dataset, for example fine_label."""
    image_size: int | None = None
    """Side to bring images of a folder to when they differ in size."""
    on_bad: Literal["stop", "skip"] = "stop"
    """What to do about files that are not readable images."""
    stream_batch: int | None = None
    """Images in a stream batch (the paper's n); the dataset's usual when not given."""
    samples_per_class: int | None = None
    """Images of each class in the stream (the paper's U), or all of a class that has fewer; when
    not given the usual of a named dataset, and all images of your own."""
    class_order: Literal["natural", "seeded"] = "natural"
    """Classes arrive by their number or in an order drawn from the seed."""
    evaluations: int = 10
    """How often to evaluate along the stream, the end included."""
    bank_size: int | None = None
    """Labelled images in the bank of the kNN and the probe; the dataset's usual when not given."""
    validation: bool = False
    """Evaluate on images held out of the train split, to choose settings without the test split."""
    threads: int | None = None
    """Threads of torch; when not given as many as there are cores, or as the run began with."""
    params: tyro.conf.Fixed[dict[str, Any]] = field(default_factory=dict)
    """Parameters of the method."""

    def check(self) -> None:
        """Raise `InputError` for a value that no run can have."""
        for name in ("evaluations", "stream_batch", "samples_per_class", "bank_size", "threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} must be 1 or more, got {value}")
        if self.threads is not None and self.threads > 1024:  # torch would fail to start them
            raise InputError(f"threads must be 1024 or fewer, got {self.threads}")
        if not 0 <= self.seed < 2**32:  # scikit-learn's limit
            raise InputError(f"seed must be from 0 to {2**32 - 1}, got {self.seed}")

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able form; `from_json` is its inverse."""
        return dataclasses.asdict(self)

    @classmethod
    def read(cls, folder: Path) -> RunConfig:
        """Return the config of the run in `folder`."""
        described = read_config(folder)
        try:
            config = cls(**described["run"])
            # The method's file is where it was when the run began, whatever the folder is.
            METHODS.locate(config.method, described.get("learner", {}).get("file"))
            return config
        except (KeyError, TypeError) as error:
            raise DamagedFileError(f"{folder / CONFIG} cannot be read: {error}") from error


def read_config(folder: Path) -> dict[str, Any]:
    """Return all that a run wrote down when it began: its config, learner, data, versions."""
    path = folder / CONFIG
    if not path.is_file():
        raise InputError(f"{folder} holds no run: there is no {path.name} in it")
    return read_json(path, "put back a copy of it, or start again with a new --out")


def has_begun(folder: Path) -> bool:
    """Whether there is something in `folder` that a run could go on with."""
    return (folder / CONFIG).exists() or any((folder / "checkpoints").glob("[0-9]*"))


def versions() -> dict[str, str]:
    """Return the versions that a result may depend on."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    return found
