"""The options of a live learner, and the file that keeps them."""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
import tyro

from scale._errors import DamagedFileError, InputError
from scale._files import as_path, write_atomic
from scale._names import shown
from scale._numbers import LARGEST_SEED, check_number
from scale._schema import misfit
from scale.live.address import hide_password
from scale.live.every import Every
from scale.methods import DEFAULT_METHOD, METHODS, Learner
from scale.methods.core.encoders import WithEncoder
from scale.models import is_pretrained, read_pretrained
from scale.runs.config import versions
from scale.runs.parameters import parameter_names, parameters
from scale.runs.run_folder import read_shaped

WATCH = "watch.json"
FORMAT = "scale-watch-1"
REMEDY = "put back a copy of it, or start again with another --out"
UPDATES = 5
"""Updates per batch, unless the user says otherwise."""
SIDE, LARGEST_SIDE = 32, 64
"""Side of images for encoders that take any, and the largest side that is chosen by itself."""
LEARNING = ("method", "seed", "image_size", "batch_size", "params")
"""Options that decide the learner's numbers; they cannot change once it has started."""
RANGES: dict[str, tuple[float, float, bool]] = {
    "seed": (0, LARGEST_SEED, True),
    "image_size": (4, 8192, True),
    "batch_size": (2, 65536, True),
    "duplicates": (0, 255, False),
    "blanks": (0, 255, False),
    "queue": (1, 10_000_000, True),
    "keep_gb": (0.001, 1e6, False),
    "keep_days": (0.0001, 1e5, False),
    "cpu": (0.01, 1, False),
    "memory": (0.1, 1e5, False),
    "checkpoint_seconds": (0, 1e6, False),
    "poll_seconds": (0.01, 86400, False),
}
"""Smallest and largest value of the options that are numbers, and whether they are whole."""


@dataclass(kw_only=True)
class WatchConfig:
    """A live learner: how it learns, what it looks at, and what it may use."""

    method: str = DEFAULT_METHOD
    """The learner: a name, or a file of your own (path.py, path.py:Class). Its parameters are
    options too."""
    seed: int = 0
    """Seed of the learner."""
    image_size: int | None = None
    """Side of the images that are learned from: the short side is scaled, the centre cropped.
    Default: what pretrained weights want, else what the views want, at most 64, or 32. Smaller
    images learn faster."""
    batch_size: int = 64
    """Images in a batch. Smaller batches are learned from sooner."""
    every: str | None = None
    """Time (2s) or number of frames (10f) between two frames that are taken.
    Default: 0.5s for video, streams and cameras, and every image of a folder or program."""
    motion: bool = False
    """Take only frames in which something moves."""
    crop: Literal["none", "motion"] = "none"
    """Learn from crops of what moves instead of from whole frames."""
    duplicates: float = 3.0
    """Skip an image if no part of it differs by this many of 255 grey levels from the last one
    that was taken. 0 takes all."""
    blanks: float = 4.0
    """Skip an image whose standard deviation is below this many of 255 grey levels. 0 takes all."""
    queue: int | None = None
    """Images that may wait to be learned from. Default: 16 batches. When more come from a camera
    or stream, updates per batch fall first, then images are dropped."""
    keep_gb: float | None = None
    """Disk space for images, in GB (10^9 bytes). The oldest unnamed images leave first."""
    keep_days: float | None = None
    """Days to keep unnamed images."""
    cpu: float = 1.0
    """Share of this machine's cores to use, above 0 and at most 1."""
    memory: float | None = None
    """Largest memory of the process, in GB (10^9 bytes)."""
    checkpoint_seconds: float = 60.0
    """Seconds between two checkpoints; 0 writes one after every batch."""
    poll_seconds: float = 1.0
    """Seconds between two looks at a folder."""
    params: tyro.conf.Fixed[dict[str, Any]] = field(default_factory=dict)
    """Parameters of the method."""

    def check(self) -> None:
        """Raise `InputError` for a value that is not allowed."""
        for name, hint in typing.get_type_hints(type(self)).items():
            wanted = misfit(getattr(self, name), hint)
            if wanted is not None:
                raise InputError(f"{name} must be {wanted}, got {getattr(self, name)!r}")
        for name, (least, most, whole) in RANGES.items():
            value = getattr(self, name)
            if value is not None:
                check_number(name, value, least=least, most=most, whole=whole)
        if self.every is not None:
            Every.parse(self.every)

    def complete(self) -> WatchConfig:
        """Return these options with all parameters and the image size written out."""
        self.check()
        params = live_parameters(self.method, self.params)
        learner = METHODS[self.method](**params, seed=self.seed)
        if learner.needs_labels:
            raise InputError(
                f"{self.method} with these parameters learns from labels, and a live stream has "
                "none; choose another method"
            )
        size = self.image_size or _usual_size(learner)
        return dataclasses.replace(self, params=params, image_size=size)

    def make_learner(self) -> Learner:
        """Return the started learner of complete options."""
        assert self.image_size is not None
        learner = METHODS[self.method](**self.params, seed=self.seed)
        learner.start((3, self.image_size, self.image_size))
        return learner

    @property
    def steps(self) -> int:
        """Updates per batch while images come no faster than they are learned."""
        return int(self.params.get("steps_per_batch", 1))

    @property
    def room(self) -> int:
        """Images that may wait to be learned from."""
        return self.queue or 16 * self.batch_size


def live_parameters(
    method: str, given: dict[str, Any] | None = None, preset: str | None = None
) -> dict[str, Any]:
    """Return all parameters of a method for live images, without the seed.

    Examples
    --------
    >>> live_parameters("scale-plus")["steps_per_batch"]
    5
    """
    kind = METHODS[method]
    if not isinstance(given, Mapping | None):
        raise InputError(f"given must be a dict of parameters, got {shown(given)}")
    wanted = dict(given or {})
    preset_has = preset is not None and "steps_per_batch" in kind.presets.get(preset, {})
    if "steps_per_batch" in parameter_names(kind) and not preset_has:
        wanted.setdefault("steps_per_batch", UPDATES)
    return parameters(method, "live", preset, wanted)


class WatchFile(msgspec.Struct, kw_only=True):
    """The content of watch.json."""

    format: Literal["scale-watch-1"]
    watch: dict[str, Any]
    sources: list[str]
    learner: dict[str, Any]
    threads: int
    versions: dict[str, str] = {}


def read_watch(folder: Path) -> tuple[WatchConfig, dict[str, Any]]:
    """Return the options of the live learner in `folder`, and all of its watch.json."""
    if not (as_path("folder", folder) / WATCH).is_file():
        raise InputError(
            f"{folder} holds no live learner: there is no {WATCH} in it; check the path, or start "
            f"one with: scale watch SOURCE --out {folder}"
        )
    found = read_shaped(folder / WATCH, WatchFile, REMEDY)
    try:
        config = WatchConfig(**found["watch"])
        config.check()
        METHODS.locate(config.method, found["learner"].get("file"))
    except (TypeError, InputError) as error:
        raise DamagedFileError(f"{folder / WATCH} cannot be read ({error}); {REMEDY}") from error
    return config, found


def write_watch(
    folder: Path, config: WatchConfig, sources: list[str], learner: Learner, threads: int
) -> None:
    """Write watch.json; if an address holds a password, only its user can read the file."""
    content = {
        "format": FORMAT,
        "watch": dataclasses.asdict(config),
        "sources": sources,
        "learner": learner.describe(),
        "threads": threads,
        "versions": versions(),
    }
    text = json.dumps(content, indent=1) + "\n"
    if (folder / WATCH).is_file() and (folder / WATCH).read_text() == text:
        return  # a learner that goes on starts on a full disk, too
    write_atomic(folder / WATCH, text)
    if any(hide_password(one) != one for one in sources):
        (folder / WATCH).chmod(0o600)


def refuse_other_learner(folder: Path, kept: WatchConfig, given: WatchConfig) -> None:
    """Raise `InputError` if options differ that the learner in `folder` was started with."""
    then, now = _learning(kept), _learning(given)
    for name in {**now, **then}:
        if now.get(name) != then.get(name):
            raise InputError(
                f"the learner in {folder} was started with {name} = {then.get(name)}, not "
                f"{now.get(name)}; leave that option out, or start another with a new --out"
            )


def _learning(config: WatchConfig) -> dict[str, Any]:
    options = {name: getattr(config, name) for name in LEARNING}
    params = options.pop("params")
    plain: dict[str, Any] = json.loads(json.dumps({**options, **params}))
    return plain


def _usual_size(learner: Learner) -> int:
    """Return the side of images that suits a learner: that of its pretrained weights, if any."""
    usual = min(learner.image_side or SIDE, LARGEST_SIDE)
    if isinstance(learner, WithEncoder) and is_pretrained(learner.encoder):
        # Weights that name no side take any.
        least = read_pretrained(str(learner.encoder))[0].least_side
        return learner.encoder_side or max(usual, least)
    return usual
