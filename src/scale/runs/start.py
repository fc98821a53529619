"""The learner that a run goes on from: `scale run --from`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from torch import Tensor

from scale._errors import InputError
from scale._files import as_path
from scale._schema import read_table
from scale._tensors import read_tensors
from scale.methods import METHODS, Learner, restore
from scale.runs.checkpoint import Checkpoints
from scale.runs.config import RunConfig
from scale.runs.run_folder import LEARNER
from scale.runs.schemas import Description
from scale.runs.source import LENGTH

FREE = ("seed", "device")
"""Parameters that may differ from the learner's: the run's seed orders the new stream."""


class Start(NamedTuple):
    """A saved learner."""

    path: Path
    digest: str
    """First digits of the SHA-256 of its file."""
    description: dict[str, Any]
    """The learner's `describe`."""
    state: dict[str, Tensor]


def read_start(source: str | Path) -> Start:
    """Return the learner in a file, or in the folder of a run, finished or not."""
    path = _file_in(Path(source))
    state, meta = read_tensors(path)
    description = meta.get("learner", meta) if isinstance(meta, dict) else {}
    try:
        read_table(description, Description, "its description")
    except (InputError, msgspec.MsgspecError) as error:
        raise InputError(f"{path} is not a learner ({error}); give one, or a run") from error
    if str(description["params"].get("encoder", "")).startswith("module:"):
        raise InputError(
            f"{path} has an encoder of your own, which a run cannot make; go on in Python: "
            "scale.load(path, encoder=...).partial_fit(images)"
        )
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:LENGTH]
    return Start(path, digest, description, state)


def config_from(source: str | Path, method: str | None = None, **options: Any) -> RunConfig:
    """Return the config of a run that goes on from a learner, with its method and parameters.

    Parameters
    ----------
    source
        A learner that `Learner.save` wrote, or the folder of a run.
    method
        The method, if it is in a file of your own: ``path.py`` or ``path.py:Name``.
    options
        Other options of `RunConfig`; give at least the dataset.
    """
    start = read_start(source)
    params = {name: value for name, value in start.description["params"].items() if name != "seed"}
    options = {"seed": start.description["params"].get("seed", 0), **options}
    name = method or _method_of(Path(source), start)
    _refuse_other_method(name, start)
    return RunConfig(start_from=str(source), method=name, params=params, **options)


def take_over(config: RunConfig) -> RunConfig:
    """Return `config` with the digest of its start; refuse a method or parameters that differ."""
    assert config.start_from is not None
    start = read_start(config.start_from)
    _refuse_other_method(config.method, start)
    theirs = start.description["params"]
    mine = json.loads(json.dumps(config.params))
    for name in {**theirs, **mine}:
        if name not in FREE and mine.get(name) != theirs.get(name):
            raise InputError(
                f"the learner in {start.path} has {name} = {theirs.get(name)}, not "
                f"{mine.get(name)}; leave that option out: the parameters of a learner cannot "
                "change"
            )
    config.start_digest = start.digest
    return config


def load_start(config: RunConfig) -> Learner:
    """Return the learner that a run goes on from; refuse a file that changed since it began."""
    assert config.start_from is not None
    try:
        start = read_start(config.start_from)
    except InputError as error:
        raise InputError(
            f"the run goes on from a learner that is gone and has no checkpoint of its own yet: "
            f"{error}, or start again with a new --out"
        ) from error
    if start.digest != config.start_digest:
        raise InputError(
            f"the learner in {start.path} changed since the run began, and the run has no "
            "checkpoint of its own yet; put back the file, or start again with a new --out"
        )
    return restore(
        start.state,
        start.description,
        method=config.method,
        device=config.params.get("device", "cpu"),
        origin=str(start.path),
    )


def _refuse_other_method(method: str, start: Start) -> None:
    mine, theirs = METHODS[method].name, start.description["method"]
    if mine != theirs:
        raise InputError(
            f"the learner in {start.path} is a {theirs!r}, not a {mine!r}; leave the method out: "
            "the run takes over the learner's (in Python, with scale.runs.config_from)"
        )


def _file_in(source: Path) -> Path:
    if not as_path("a learner to start from", source).is_dir():
        return source
    if (source / LEARNER).is_file():
        return source / LEARNER
    paths = Checkpoints(source / "checkpoints").paths()
    if not paths:
        raise InputError(
            f"{source} holds no learner: there is no {LEARNER} in it, and no checkpoint; give a "
            "saved learner, or the folder of a run"
        )
    return paths[-1]


def _method_of(source: Path, start: Start) -> str:
    if (source / "config.json").is_file():
        return RunConfig.read(source).method
    name, place = start.description["method"], start.description.get("file")
    for known in (place, name):
        if known is not None and known in METHODS:
            return str(known)
    raise InputError(
        f"{start.path} needs the method {name!r}, which is not known here; name its file: "
        f"--method {place or 'path.py'}"
    )
