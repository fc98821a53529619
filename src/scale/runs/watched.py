"""The learner of a live learner's folder, for commands that need no more than a learner."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from scale._errors import DamagedFileError, InputError
from scale.methods import Learner, load, restore
from scale.runs.checkpoint import Checkpoints, Meta, State
from scale.runs.run_folder import LEARNER, parse_json

WATCH = "watch.json"


def is_watched(folder: Path) -> bool:
    """Return whether `folder` is that of a live learner, made by ``scale watch``."""
    return (folder / WATCH).is_file()


def watched_method(folder: Path) -> str:
    """Return the method of a live learner, which may be a user's file."""
    path = folder / WATCH
    try:
        method = parse_json(path.read_bytes())["watch"]["method"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedFileError(f"{path} is damaged; put back a copy of it") from error
    return str(method)


def load_watched(folder: Path, method: str, warn: Callable[[str], None]) -> Learner:
    """Return the newest saved learner of a live learner's folder; it may still be watching.

    Parameters
    ----------
    folder
        Folder of the live learner.
    method
        Its method, by name or file.
    warn
        Called with a message for each damaged checkpoint.
    """

    def use(state: State, meta: Meta) -> Learner:
        return restore(state, meta["learner"], method=method, origin=str(folder))

    found = Checkpoints(folder / "checkpoints").read(warn, use)
    if found is None and (folder / LEARNER).is_file():
        return load(folder / LEARNER, method=method)
    if found is None:
        raise InputError(f"the learner in {folder} is not saved yet; wait for its first checkpoint")
    return found
