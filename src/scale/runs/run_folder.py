"""The folder of a run: its JSON files, its left-overs, and its lock against a second process."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from scale._errors import DamagedFileError, InputError
from scale._locks import LockedError, hold
from scale._schema import read_table
from scale.runs.schemas import Config, Floors, Summary

LEARNER = "learner.safetensors"
CONFIG_REMEDY = "put back a copy of it, or start again with a new --out"
FLOORS_REMEDY = "delete it and run with --resume: the floors are then measured again"
SUMMARY_REMEDY = "delete it and run with --resume: the end of the run is then made again"
SHAPES: dict[str, type[msgspec.Struct]] = {
    "config.json": Config,
    "floors.json": Floors,
    "summary.json": Summary,
}
HELD = {
    "config.json": "a run",
    "summary.json": "a finished run",
    "records.jsonl": "a bench",
    "watch.json": "a live learner",
}
"""Files that tell what a folder holds."""


def refuse_held(folder: Path, *names: str) -> None:
    """Raise `InputError` if `folder` has one of the files, keys of `HELD`, that another wrote."""
    for name in names:
        if (folder / name).exists():
            raise InputError(f"{folder} holds {HELD[name]}; choose another --out")


def no_run(folder: Path) -> str:
    """Return the message about a folder that should hold a run and does not."""
    if (folder / "watch.json").is_file():
        return (
            f"{folder} holds a live learner, not a run: scale serve shows it, scale status and "
            "scale names tell about it; scale export, embed and push take it"
        )
    return f"{folder} holds no run: there is no config.json in it; check the path"


def read_json(path: Path, remedy: str) -> dict[str, Any]:
    """Return the content of a run's JSON file, checked against the shape of a file of this name.

    The error for a damaged one ends with `remedy`.
    """
    shape = SHAPES[path.name]
    wrap = (lambda found: {"floors": found}) if shape is Floors else None
    return read_shaped(path, shape, remedy, wrap)


def read_shaped(
    path: Path,
    shape: type[msgspec.Struct],
    remedy: str,
    wrap: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Return the object in a JSON file, checked against a shape, after `wrap` if it is given."""
    try:
        found = parse_json(path.read_bytes())
        read_table(found if wrap is None else wrap(found), shape, path.name)
    except (OSError, ValueError) as error:
        raise DamagedFileError(f"{path} cannot be read ({error}); {remedy}") from error
    return found


def parse_json(content: bytes) -> dict[str, Any]:
    """Return a JSON object; raise `ValueError` for anything else."""
    try:
        found = json.loads(content)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(found, dict):
        raise ValueError(f"expected an object, found a {type(found).__name__}")
    return found


def sweep(folder: Path) -> None:
    """Delete the unfinished files that killed processes left in a run's folder."""
    for place in (folder, *(folder / name for name in ("checkpoints", "embeddings", "memory"))):
        for part in place.glob(".*.part"):
            part.unlink(missing_ok=True)


def sweep_if_free(folder: Path) -> None:
    """Delete left-overs unless another process works in the folder, or nothing can be deleted."""
    with contextlib.suppress(InputError, OSError), only_here(folder):
        pass


@contextlib.contextmanager
def only_here(folder: Path) -> Iterator[None]:
    """Hold the run's folder for this process during the block, free of left-overs."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(hold(folder / ".lock"))
        except LockedError as error:
            raise InputError(
                f"another process is running in {folder}; wait for it or use another --out"
            ) from error
        sweep(folder)
        yield
