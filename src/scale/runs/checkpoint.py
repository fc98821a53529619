"""Checkpoints of a run: written atomically; the last two are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor

from scale._errors import DamagedFileError, InputError
from scale._tensors import read_tensors, write_tensors

FORMAT = "scale-checkpoint-2"
OLDER = ("scale-checkpoint-1",)
KEPT = 2


class Checkpoints:
    """The checkpoints of one run, in one folder.

    Parameters
    ----------
    folder
        Folder of the checkpoints; the first write creates it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, cursor: int, state: dict[str, Tensor], meta: dict[str, Any]) -> Path:
        """Write the state after `cursor` images; keep it and the one before, delete all others.

        This also deletes later checkpoints: the run resumed before them because they are damaged.
        """
        path = self.folder / f"{cursor:010d}.safetensors"
        write_tensors(path, state, {"format": FORMAT, **meta})
        paths = self.paths()
        kept = [one for one in paths if one.name <= path.name][-KEPT:]
        for other in set(paths) - set(kept):
            other.unlink(missing_ok=True)
        for leftover in self.folder.glob(".*.part"):  # left by a killed process
            leftover.unlink(missing_ok=True)
        return path

    def read(self, warn: Callable[[str], None]) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """Return the newest checkpoint that is not damaged, or None if there is none."""
        paths = self.paths()
        for path in reversed(paths):
            try:
                state, meta = read_tensors(path)
                if meta.get("format") in OLDER:
                    raise InputError(
                        f"{path} was written by an older version of scale, whose parameters had "
                        "other names; go on with scale-lifelong 0.1, or start again with a new "
                        "--out"
                    )
                if meta.get("format") != FORMAT:
                    raise DamagedFileError(f"{path} is not a checkpoint ({FORMAT})")
                return state, meta
            except DamagedFileError as error:
                warn(f"{error}; going on from the checkpoint before it")
        if paths:
            raise DamagedFileError(
                f"every checkpoint in {self.folder} is damaged; start again with another --out"
            )
        return None

    def paths(self) -> list[Path]:
        """Return the checkpoints' files, oldest first."""
        return sorted(self.folder.glob("[0-9]*.safetensors"))
