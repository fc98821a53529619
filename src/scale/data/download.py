"""Getting the hub's parquet files: resumable, checked, whole or not there at all."""

from __future__ import annotations

import errno
import hashlib
import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from scale._errors import DamagedFileError, InputError, ScaleError
from scale.data.hub import UNFINISHED, HubDataset, download_folder, is_hub_id
from scale.data.locks import locked
from scale.data.registry import DATASETS, Progress

_CHUNK = 1 << 20
_TIMEOUT_SECONDS = 30


@dataclass(frozen=True)
class RemoteFile:
    """A file of the hub, and what its content must be."""

    path: str
    url: str
    size: int
    sha256: str


def get_dataset(name: str, *, progress: Progress | None = None) -> Path:
    """Download a dataset into the user's cache and return its folder.

    What is already there and right is not fetched again; an interrupted download goes on where
    it stopped. Set ``HF_ENDPOINT`` to use a mirror of the hub.

    Parameters
    ----------
    name
        A registered name or a hub id ``owner/name``.
    progress
        Called with (bytes done, bytes in all).
    """
    hub_id = _hub_id(name)
    files = _list_files(hub_id)
    folder = download_folder(hub_id)
    total, before = sum(file.size for file in files), 0

    def report(done: int) -> None:
        if progress is not None:
            progress(before + done, total)

    try:
        with locked(folder / ".lock"):
            if not all((folder / file.path).is_file() for file in files):
                (folder / UNFINISHED).touch()
            for file in files:
                _fetch(file, folder / file.path, report)
                before += file.size
            (folder / UNFINISHED).unlink(missing_ok=True)
    except (OSError, http.client.HTTPException) as error:
        raise _transfer_error(name, folder, error) from error
    report(0)
    return folder


def _hub_id(name: str) -> str:
    loader = DATASETS[name] if name in DATASETS or not is_hub_id(name) else HubDataset(name, name)
    if not isinstance(loader, HubDataset):
        raise InputError(f"{name} needs no download; load it with load_dataset({name!r})")
    return loader.hub_id


def _list_files(hub_id: str) -> list[RemoteFile]:
    """Ask the hub which parquet files there are, of one commit, with sizes and checksums."""
    try:
        import huggingface_hub as hub
    except ImportError as error:
        raise ScaleError(
            "downloading needs huggingface_hub; run: pip install 'scale-lifelong[hub]'"
        ) from error
    # huggingface_hub reads HF_ENDPOINT once, at its import.
    endpoint = os.environ.get("HF_ENDPOINT") or None
    try:
        info = hub.HfApi(endpoint=endpoint, token=False).dataset_info(hub_id, files_metadata=True)
    except Exception as error:  # Its HTTP library, and so its errors, changed over its versions.
        first_line = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ScaleError(
            f"cannot ask the hub for {hub_id} ({first_line}); check the name and the network, "
            f"and run again"
        ) from error
    files = [_remote_file(hub, hub_id, info.sha, one, endpoint) for one in info.siblings or ()]
    wanted = [file for file in files if file is not None]
    if not wanted:
        raise InputError(f"{hub_id} has no parquet files on the hub; choose another dataset")
    return wanted


def _remote_file(
    hub: Any, hub_id: str, commit: str | None, sibling: Any, endpoint: str | None
) -> RemoteFile | None:
    path = PurePosixPath(sibling.rfilename)
    if path.suffix != ".parquet" or sibling.lfs is None:
        return None
    if path.is_absolute() or ".." in path.parts:
        raise ScaleError(f"the hub lists {path} in {hub_id}, outside the dataset's folder")
    url = hub.hf_hub_url(hub_id, str(path), repo_type="dataset", revision=commit, endpoint=endpoint)
    return RemoteFile(str(path), url, sibling.lfs.size, sibling.lfs.sha256)


def _fetch(file: RemoteFile, target: Path, report: Callable[[int], None]) -> None:
    if target.is_file() and _sha256(target) == file.sha256:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    # Named after the content: what is left of another version is never continued.
    part = target.with_name(f".{target.name}.{file.sha256[:16]}.part")
    _transfer(file, part, report)
    if _sha256(part) != file.sha256:
        part.unlink()
        raise DamagedFileError(
            f"{file.path} arrived altered (its checksum is not the hub's) and was thrown away; "
            f"run again"
        )
    part.replace(target)


def _transfer(file: RemoteFile, part: Path, report: Callable[[int], None]) -> None:
    """Append to `part` until it has the file's size."""
    with open(part, "ab") as out:
        have = out.tell()
        if have > file.size:
            have = out.truncate(0)
        if have < file.size:
            headers = {"Range": f"bytes={have}-"} if have else {}
            request = urllib.request.Request(file.url, headers=headers)
            with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as response:
                if have and response.status != http.client.PARTIAL_CONTENT:
                    have = out.truncate(0)
                while have < file.size and (data := response.read(min(_CHUNK, file.size - have))):
                    out.write(data)
                    have += len(data)
                    report(have)
        out.flush()
        os.fsync(out.fileno())
    if have < file.size:
        raise ConnectionError(f"{file.path} stopped at {have} of {file.size} bytes")


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _transfer_error(name: str, folder: Path, error: Exception) -> ScaleError:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ScaleError(f"no space left on the disk of {folder}; free some and run again")
    if isinstance(error, PermissionError | NotADirectoryError):
        return ScaleError(f"cannot write to {folder} ({error.strerror}); set SCALE_CACHE")
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    return ScaleError(
        f"the download of {name} was interrupted ({reason}); run again to go on where it stopped"
    )
