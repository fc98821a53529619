"""Checkpoints of a run: written atomically; the last two are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from torch import Tensor

from scale._errors import DamagedFileError, InputError
from scale._schema import read_table
from scale._tensors import read_tensors, write_tensors
from scale.runs import schemas

FORMAT = "scale-checkpoint-3"
OLDER = ("scale-checkpoint-1", "scale-checkpoint-2")
KEPT = 2

State = dict[str, Tensor]
Meta = dict[str, Any]
T = TypeVar("T")


class Checkpoints:
    """The checkpoints of one run, in one folder.

    Parameters
    ----------
    folder
        Folder of the checkpoints; the first write creates it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, cursor: int, state: State, meta: Meta) -> Path:
        """Write the state after `cursor` images; keep it and the one before, delete all others.

        This also deletes later checkpoints: the run resumed before them because they are damaged.
        """
        path = self.folder / f"{cursor:010d}.safetensors"
        write_tensors(path, state, {"format": FORMAT, **meta})
        paths = self.paths()
        kept = [one for one in paths if one.name <= path.name][-KEPT:]
        for other in set(paths) - set(kept):
            other.unlink(missing_ok=True)
        return path

    def read(self, warn: Callable[[str], None], use: Callable[[State, Meta], T]) -> T | None:
        """Return what `use` makes of the newest checkpoint that it can use; None without any.

        Parameters
        ----------
        warn
            Called with a message for each checkpoint that is damaged or does not fit.
        use
            Called with the tensors and the description of a checkpoint; it raises
            `DamagedFileError` for one that does not fit.
        """
        paths = self.paths()
        for path in reversed(paths):
            try:
                return use(*_read(path))
            except DamagedFileError as error:
                last = error
                warn(f"{error}; going on from the checkpoint before it")
        if paths:
            raise DamagedFileError(
                f"every checkpoint in {self.folder} is damaged or does not fit (the last one: "
                f"{last}); start again with another --out"
            )
        return None

    def paths(self) -> list[Path]:
        """Return the checkpoints' files, oldest first."""
        return sorted(self.folder.glob("[0-9]*.safetensors"))


def _read(path: Path) -> tuple[State, Meta]:
    """Return the tensors and the checked description of a checkpoint."""
    if path.is_dir():
        raise InputError(
            f"{path} is a folder where a checkpoint should be; move it away and run again"
        )
    state, meta = read_tensors(path)
    found = meta.get("format") if isinstance(meta, dict) else None
    if found in OLDER:
        raise InputError(
            f"{path} was written by an older version of scale, whose state was another; "
            "go on with that version, or start again with a new --out"
        )
    if found != FORMAT:
        raise DamagedFileError(f"{path} is not a checkpoint ({FORMAT})")
    try:
        read_table(meta, schemas.Checkpoint, "its description")
    except InputError as error:
        raise DamagedFileError(f"{path} is damaged: {error}") from error
    return state, meta
