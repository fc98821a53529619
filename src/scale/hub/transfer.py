"""Push a learner to the hub or to a folder, and pull it from there."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scale._errors import InputError
from scale._files import as_path, check_writable, write_atomic
from scale._hub import LEARNER, PREFIX, download, endpoint, import_hub, is_hub_name, plain_errors
from scale._names import shown
from scale.export import export_learner
from scale.export.graphs import need
from scale.hub.card import model_card
from scale.methods import load
from scale.runs.embed_learner import open_embedder

EXPORT, CARD = "learner.onnx", "README.md"
FILES = (CARD, LEARNER, EXPORT)
"""What a model on the hub consists of. Nothing else is fetched."""
FOLDER_SIGNS = (".", "~", os.sep)
LICENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")


@dataclass(frozen=True)
class Moved:
    """What was pushed or pulled."""

    place: str
    files: tuple[str, ...]
    images: int
    """Images of the stream in the learner's memory."""


def push(
    run: Path,
    name: str,
    *,
    learner: bool = True,
    licence: str | None = None,
    private: bool = False,
    warn: Callable[[str], None] = warnings.warn,
) -> Moved:
    """Put learner, ONNX export and model card of a run on the hub, or in a folder.

    Parameters
    ----------
    run
        Folder of a run, finished or not, or of a live learner, or a saved learner.
    name
        ``owner/name`` on the hub, or a folder: an existing one, or a path that begins with ``/``,
        ``.`` or ``~``.
    learner
        Also push the learner, with the images in its memory; else only its export.
    licence
        Licence of the model for its card, for example mit.
    private
        Make a new model private.
    warn
        Called with a message for each damaged checkpoint.
    """
    if licence is not None and LICENCE.fullmatch(licence) is None:
        raise InputError(
            f"licence must be an identifier such as mit or apache-2.0, got {shown(licence)}"
        )
    folder = _as_folder(name)
    if folder is None:
        _check_login(name)
    else:
        check_writable(folder / CARD)
    need("onnxscript")
    embedder = open_embedder(run, warn)
    with tempfile.TemporaryDirectory() as made:
        stage = Path(made)
        export_learner(run, out=stage / EXPORT, warn=warn)
        if learner:
            (stage / LEARNER).write_bytes(embedder.content())
        title = f"{PREFIX}{name.removeprefix(PREFIX)}" if folder is None else LEARNER
        card = model_card(run, embedder.learner, title, with_learner=learner, licence=licence)
        (stage / CARD).write_text(card, encoding="utf-8")
        files = tuple(file for file in FILES if (stage / file).is_file())
        place = _upload(stage, name, private) if folder is None else _copy(stage, folder, files)
    memory = embedder.learner.memory_
    return Moved(place, files, len(memory) if learner and memory is not None else 0)


def pull(name: str, out: Path) -> Moved:
    """Get what `push` put on the hub or in a folder into the new folder `out`."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InputError(f"{out} is there already; give a new folder with --out")
    folder = _as_folder(name)
    with tempfile.TemporaryDirectory() as made:
        stage = Path(made)
        if folder is None:
            _fetch(name, stage)
        else:
            _take(folder, stage)
        files = tuple(file for file in FILES if (stage / file).is_file())
        if not set(files) & {LEARNER, EXPORT}:
            raise InputError(f"{name} holds neither {LEARNER} nor {EXPORT}; it was not pushed here")
        memory = load(stage / LEARNER).memory_ if LEARNER in files else None
        _copy(stage, out, files)
    return Moved(str(out), files, 0 if memory is None else len(memory))


def _as_folder(name: str) -> Path | None:
    """Return the folder that a name means, or None for a model on the hub."""
    path = as_path("name", name).expanduser()
    if name.startswith(FOLDER_SIGNS) or path.is_dir():
        return path
    bare = name.removeprefix(PREFIX)
    if not is_hub_name(bare):
        raise InputError(
            f"{name!r} is neither owner/name on the hub nor a folder; a new folder begins with ./"
        )
    return None


def _check_login(name: str) -> None:
    hub = import_hub("push to the hub")
    if hub.get_token() is None:
        raise InputError(
            f"pushing to {name} on the hub needs a token: run `hf auth login` or set HF_TOKEN; a "
            "folder such as ./model needs none"
        )


def _upload(stage: Path, name: str, private: bool) -> str:
    hub, bare = import_hub("push to the hub"), name.removeprefix(PREFIX)
    api = hub.HfApi(endpoint=endpoint())
    with plain_errors(bare):
        api.create_repo(bare, exist_ok=True, private=private)
        api.upload_folder(
            repo_id=bare, folder_path=stage, commit_message="scale push", allow_patterns=list(FILES)
        )
    return f"{api.endpoint}/{bare}"


def _fetch(name: str, stage: Path) -> None:
    hub, bare = import_hub("pull from the hub"), name.removeprefix(PREFIX)
    with plain_errors(bare):
        # Unlike list_repo_files, it does not try for half a minute where there is no network.
        about = hub.HfApi(endpoint=endpoint()).model_info(bare)
    listed = {one.rfilename for one in about.siblings or ()}
    for file in FILES:
        if file in listed:
            shutil.copyfile(download(bare, file), stage / file)


def _take(folder: Path, stage: Path) -> None:
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; check the path")
    for file in FILES:
        if (folder / file).is_file():
            shutil.copyfile(folder / file, stage / file)


def _copy(stage: Path, folder: Path, files: tuple[str, ...]) -> str:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; give a folder")
    for file in files:
        write_atomic(folder / file, (stage / file).read_bytes())
    return str(folder)
