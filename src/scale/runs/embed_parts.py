"""The finished parts of an embedding, in a folder beside its file, until the file is whole."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import torch

from scale._errors import DamagedFileError, InputError
from scale._files import write_atomic
from scale._locks import LockedError, hold
from scale._tensors import read_tensors, write_tensors
from scale.data.decode import Skipped
from scale.methods.core.learner import CHUNK
from scale.runs.run_folder import read_shaped

FORMAT = "scale-embed-1"
PART = 4 * CHUNK  # images of a part; whole chunks, so that parts and one `transform` are equal
OURS = re.compile(r"manifest\.json|listing\.jsonl|\.lock|\d{8}\.safetensors|\..*\.part")
REMEDY = "begin again with --restart"


class Manifest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What the parts are made of. Parts of another manifest are never mixed with them."""

    format: str = FORMAT
    learner: str
    """Digest of the learner."""
    code: str
    """Digest of the code that computes embeddings."""
    source: str
    """The source as the user gave it."""
    place: str
    """Absolute path of the source."""
    split: str | None
    images: int
    """Number of images, unreadable ones included."""
    archive: str
    """Digest of the list of images."""
    part: int = PART
    """Images of a part."""


SETTINGS = {
    "format": "by another version of scale",
    "learner": "with another learner",
    "code": "with other code",
    "part": "with parts of another size",
    "source": "from another source",
    "place": "from another source",
    "split": "from another split",
    "images": "when the source had other images",
    "archive": "when the source had other images",
}
"""How an embedding that differs in a setting was begun."""


class Part(NamedTuple):
    """The embeddings of the readable images of a part, and the unreadable ones."""

    z: np.ndarray
    skipped: list[Skipped]


class Parts:
    """The folder ``<out>.parts``. `open_parts` holds it for one process."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.folder = out.with_name(f"{out.name}.parts")
        self.listing = self.folder / "listing.jsonl"
        self._manifest = self.folder / "manifest.json"

    def manifest(self) -> Manifest | None:
        """Return the manifest of an embedding that was begun, or None."""
        if not self._manifest.is_file():
            return None
        return Manifest(**read_shaped(self._manifest, Manifest, REMEDY))

    def begin(self, manifest: Manifest) -> None:
        """Write the manifest; from then on the parts belong to it."""
        write_atomic(self._manifest, msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")

    def finished(self, warn: Callable[[str], None]) -> dict[int, list[Skipped]]:
        """Return the unreadable images of each finished part; delete damaged parts."""
        found = {}
        for path in sorted(self.folder.glob("[0-9]*.safetensors")):
            try:
                found[int(path.stem)] = self.read(int(path.stem)).skipped
            except DamagedFileError as error:
                warn(f"{error}; making it again")
                path.unlink()
        return found

    def write(self, number: int, part: Part) -> None:
        """Keep a part, whole or not at all."""
        z = np.require(part.z, requirements=["C", "W"])  # Ray's arrays are read-only
        tensors = {"z": torch.from_numpy(z)}
        write_tensors(self._path(number), tensors, {"skipped": [asdict(s) for s in part.skipped]})

    def read(self, number: int) -> Part:
        """Return a finished part."""
        tensors, meta = read_tensors(self._path(number))
        return Part(tensors["z"].numpy(), [Skipped(**one) for one in meta["skipped"]])

    def clear(self) -> None:
        """Delete all files of an earlier embedding."""
        for path in self.folder.iterdir():
            if path.name != ".lock":
                path.unlink()

    def is_empty(self) -> bool:
        """Return whether no part is finished."""
        return not any(self.folder.glob("[0-9]*.safetensors"))

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08d}.safetensors"


@contextlib.contextmanager
def open_parts(out: Path, *, restart: bool) -> Iterator[Parts]:
    """Hold the parts of `out` during the block; afterwards delete a folder without parts."""
    parts = Parts(out)
    others = _not_ours(parts.folder) if os.path.lexists(parts.folder) else []
    if others:
        raise InputError(
            f"{parts.folder} is needed for finished parts, but holds other files ({others[0]}); "
            "move them, or choose another --out"
        )
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(hold(parts.folder / ".lock"))
        except LockedError as error:
            raise InputError(
                f"another process is writing {out}; wait for it, or choose another --out"
            ) from error
        try:
            if restart or parts.is_empty() or parts.manifest() is None:
                parts.clear()
            for left in parts.folder.glob(".*.part"):  # of a killed process
                left.unlink(missing_ok=True)
            yield parts
        finally:
            if parts.is_empty():
                shutil.rmtree(parts.folder, ignore_errors=True)


def refuse_other(then: Manifest, now: Manifest, parts: Parts) -> None:
    """Raise `InputError` if parts were made with other settings."""
    for name, how in SETTINGS.items():
        if getattr(then, name) != getattr(now, name):
            raise InputError(
                f"{parts.folder} has parts of an embedding that was begun {how}; repeat that "
                "command to finish it, or begin again with --restart"
            )


def _not_ours(folder: Path) -> list[str]:
    if folder.is_symlink() or not folder.is_dir():  # it is deleted at the end, and a link stays
        return [folder.name]
    return [path.name for path in folder.iterdir() if not OURS.fullmatch(path.name)]
