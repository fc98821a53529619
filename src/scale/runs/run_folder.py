"""The folder of a run: its JSON files, and its lock against a second process."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scale._errors import DamagedFileError, InputError
from scale._locks import LockedError, hold

FLOORS_REMEDY = "delete it and run with --resume: the floors are then measured again"
SUMMARY_REMEDY = "delete it and run with --resume: the end of the run is then made again"


def read_json(path: Path, remedy: str) -> dict[str, Any]:
    """Return the content of a JSON file of a run; the error for a damaged one has `remedy`."""
    try:
        found = json.loads(path.read_bytes())
        if not isinstance(found, dict):
            raise ValueError(f"expected an object, found a {type(found).__name__}")
    except (OSError, ValueError) as error:
        raise DamagedFileError(f"{path} cannot be read ({error}); {remedy}") from error
    return found


@contextlib.contextmanager
def only_here(folder: Path) -> Iterator[None]:
    """Hold the run's folder for this process during the block."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(hold(folder / ".lock"))
        except LockedError as error:
            raise InputError(
                f"another process is running in {folder}; wait for it or use another --out"
            ) from error
        yield
