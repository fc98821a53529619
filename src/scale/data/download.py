"""Downloads from the Hugging Face hub, by huggingface_hub."""

from __future__ import annotations

import errno
import glob
import hashlib
import io
from pathlib import Path, PurePosixPath
from typing import Any

from scale._errors import DamagedFileError, InputError, ScaleError
from scale._hub import endpoint, import_hub, without_attempts
from scale._locks import wait_for
from scale._names import check_text
from scale._text import first_line
from scale.data.hub import UNFINISHED, HubDataset, download_folder, is_hub_id
from scale.data.registry import DATASETS, Progress


def get_dataset(name: str, *, progress: Progress | None = None) -> Path:
    """Download a dataset into the user's cache and return its folder.

    Every file is checked against the hub's SHA-256. Files that are complete are not fetched again.
    Set ``HF_ENDPOINT`` to use a mirror of the hub.

    Parameters
    ----------
    name
        A registered name or a hub id ``owner/name``.
    progress
        Called with (bytes done, bytes in all).
    """
    hub_id = _hub_id(check_text("name", name))
    hub = import_hub("downloading")
    source = {"endpoint": endpoint(), "token": False}
    commit, files = _list_files(hub, hub_id, source)
    folder, total = download_folder(hub_id), sum(size for size, _ in files.values())
    try:
        with wait_for(folder / ".lock"):
            if missing := _missing(folder, files):
                (folder / UNFINISHED).touch()
                for path in missing:
                    (folder / path).unlink(missing_ok=True)
                with without_attempts():
                    hub.snapshot_download(
                        hub_id,
                        repo_type="dataset",
                        revision=commit,
                        local_dir=folder,
                        allow_patterns=[glob.escape(path) for path in files],
                        tqdm_class=_progress_bar(progress, total),
                        **source,
                    )
                if missing := _missing(folder, files):
                    raise DamagedFileError(
                        f"{missing[0]} did not arrive, or its checksum is not the hub's; run again"
                    )
            (folder / UNFINISHED).unlink(missing_ok=True)
    except ScaleError:
        raise
    except Exception as error:  # The errors of huggingface_hub differ between its versions.
        raise _failed(name, folder, error) from error
    if progress is not None:
        progress(total, total)
    return folder


def _hub_id(name: str) -> str:
    loader = DATASETS[name] if name in DATASETS or not is_hub_id(name) else HubDataset(name, name)
    if not isinstance(loader, HubDataset):
        raise InputError(f"{name} needs no download; load it with load_dataset({name!r})")
    return loader.hub_id


def _list_files(
    hub: Any, hub_id: str, source: dict[str, Any]
) -> tuple[str, dict[str, tuple[int, str]]]:
    """Return the newest commit, and the size and SHA-256 of each of its parquet files."""
    try:
        with without_attempts():
            info = hub.HfApi(**source).dataset_info(hub_id, files_metadata=True)
    except Exception as error:  # The errors of huggingface_hub differ between its versions.
        raise ScaleError(
            f"cannot ask the hub for {hub_id} ({first_line(error)}); check the name and the "
            f"network, and run again"
        ) from error
    files = {}
    for one in info.siblings or ():
        path = PurePosixPath(one.rfilename)
        if path.suffix == ".parquet" and one.lfs is not None:
            if path.is_absolute() or ".." in path.parts:
                raise ScaleError(f"the hub lists {path} in {hub_id}, outside the dataset's folder")
            files[str(path)] = (one.lfs.size, one.lfs.sha256)
    if not files:
        raise InputError(f"{hub_id} has no parquet files on the hub; choose another dataset")
    return info.sha, files


def _missing(folder: Path, files: dict[str, tuple[int, str]]) -> list[str]:
    """Return the files that are not there or have another SHA-256 than on the hub."""
    return [path for path, (_, sha256) in files.items() if _sha256(folder / path) != sha256]


def _sha256(path: Path) -> str | None:
    if not path.is_file():
        return None
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _progress_bar(progress: Progress | None, total: int) -> Any:
    """Return a tqdm class that draws nothing and calls `progress` with the bytes done."""
    from tqdm import tqdm

    done = 0

    class Bar(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            kwargs.pop("name", None)  # some versions of huggingface_hub name their bars
            super().__init__(*args, **{**kwargs, "file": io.StringIO(), "disable": False})

        def update(self, n: float | None = 1) -> None:
            nonlocal done
            super().update(n)
            if self.unit == "B" and progress is not None and done < self.n <= total:
                done = int(self.n)
                progress(done, total)

    return Bar


def _failed(name: str, folder: Path, error: Exception) -> ScaleError:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return ScaleError(f"no space left on the disk of {folder}; free some and run again")
    if isinstance(error, PermissionError | NotADirectoryError | FileExistsError):
        return ScaleError(f"cannot write to {folder} ({error.strerror}); set SCALE_CACHE")
    return ScaleError(
        f"the download of {name} was interrupted ({first_line(error)}); run again: complete files "
        f"are kept"
    )
