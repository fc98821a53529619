"""Embeddings of new images with the encoder of a run: a part at a time, resumable."""

from __future__ import annotations

import contextlib
import shutil
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np

from scale._errors import InputError, UnwritableError
from scale._files import check_writable
from scale._machine import cores
from scale._numbers import check_number
from scale.data.archive import Archive, Block, Files, Piece
from scale.data.decode import Skipped, refuse
from scale.data.open_archive import open_archive
from scale.data.registry import OnBad, Progress
from scale.models import ImageShape
from scale.runs.embed_learner import Embedder, open_embedder
from scale.runs.embed_names import write_names
from scale.runs.embed_out import Whole, write_npy, write_parquet
from scale.runs.embed_parts import PART, Manifest, Part, Parts, open_parts, refuse_other
from scale.runs.embed_work import embedded_parts

LUMA = np.array([0.299, 0.587, 0.114])
Engine = Literal["local", "ray"]
MOST_WORKERS = 1024
ANY = "auto"  # address of a Ray cluster: that of this machine
FORMATS = (".npy", ".parquet")


class Embedded(NamedTuple):
    """The output of `embed_images`."""

    shape: tuple[int, ...]
    """Shape of the embeddings."""
    names: Path | None
    """File with the name of each row's image, one per line; None for images without names.
    `read_names` reads it."""
    skipped: tuple[str, ...]
    """Files that could not be read."""
    new: int = 0
    """Files that have appeared in the folder since it was listed; they are not embedded."""
    changed: int = 0
    """Files that have changed or gone since the folder was listed."""


def embed_images(
    run: Path,
    images: str,
    out: Path,
    *,
    split: str | None = None,
    on_bad: OnBad = "stop",
    workers: int | None = None,
    restart: bool = False,
    engine: Engine = "local",
    address: str = ANY,
    progress: Progress | None = None,
    warn: Callable[[str], None] = warnings.warn,
) -> Embedded:
    """Write the embeddings of `images` to `out`, in memory that does not depend on their number.

    Finished parts are kept in ``<out>.parts`` until the file is whole. After a kill, the same call
    goes on from them and writes the same file. The numbers are those of ``learner.transform`` on
    all images at once, bit for bit with the same number of threads, if none is skipped.

    For z.npy, the names of image files are in z.files.txt, one per line. A line that starts with a
    double quote is a JSON string: its name holds a line break or another control character, bytes
    that are not UTF-8, or starts with a quote itself. `read_names` reads both forms.

    Parameters
    ----------
    run
        Folder of a run, finished or not, or of a live learner, or a saved learner.
    images
        An image, a folder of images, or another source of `load_dataset`. Images are converted to
        the size and the channels of the run.
    out
        The file to write: ``.parquet`` with the columns `path` (or `source` and `index`) and
        `embedding`, or ``.npy``.
    split
        Split to embed. By default all images below a folder, in the order of their paths, and the
        train split of other sources.
    on_bad
        Stop at a file that is not a readable image, or skip it.
    workers
        Threads that decode images; on Ray, tasks at once. By default as many as there are cores.
    restart
        Delete the parts of an embedding that was not finished.
    engine
        ``"local"``, or ``"ray"`` to read and embed parts on the nodes of a cluster.
    address
        Address of the Ray cluster. ``auto`` uses this machine's, ``local`` starts one here.
    progress
        Called with (done, total) while images are embedded.
    warn
        Called with a message for each damaged checkpoint or part.
    """
    if engine not in get_args(Engine):
        raise InputError(f"engine must be local or ray, got {engine!r}")
    if workers is not None:
        check_number("workers", workers, least=1, most=MOST_WORKERS, whole=True)
    if engine != "ray" and address != ANY:
        raise InputError("address is for the engine ray; leave it out, or choose that engine")
    check_writable(out)
    if out.suffix not in FORMATS:
        raise InputError(f"the file to write must end in {' or '.join(FORMATS)}, got {out}")
    embedder = open_embedder(run, warn)
    with open_parts(out, restart=restart) as parts:
        archive = _open(embedder, images, split, on_bad, parts)
        kept = parts.finished(warn)
        missing = [number for number in range(-(-archive.total // PART)) if number not in kept]
        step = _Steps(archive.total, missing, on_bad, progress)
        read = partial(_read, embedder.image_shape)
        if engine == "local":
            threads = workers or cores()
            made = embedded_parts(embedder.learner, archive, missing, read, threads, step)
        else:
            from scale.runs.embed_ray import embed_on_ray

            made = embed_on_ray(embedder, archive, missing, read, address, workers, step)
        skipped = [one for some in kept.values() for one in some]
        _refuse_bad(skipped, on_bad)
        try:
            with contextlib.closing(made):
                for number, part in made:
                    parts.write(number, part)
                    skipped += part.skipped
            return _finish(out, archive, parts, embedder, sorted(skipped, key=lambda s: s.index))
        except UnwritableError as error:
            if parts.is_empty():
                raise
            raise UnwritableError(
                f"{error}; the parts in {parts.folder} are kept, and the same command goes on "
                "from them"
            ) from error


def _open(
    embedder: Embedder,
    images: str,
    split: str | None,
    on_bad: OnBad,
    parts: Parts,
) -> Archive:
    """List the images, or find the list of the embedding that goes on; refuse another one."""
    then = parts.manifest()
    path = Path(images).expanduser()
    now = Manifest(
        learner=embedder.digest,
        code=embedder.code,
        source=images,
        place=str(path.absolute()) if path.exists() else images,
        split=split,
        images=then.images if then else 0,
        archive=then.archive if then else "",
    )
    if then is not None:  # before the source is opened with the list of another one
        refuse_other(then, now, parts)
    _, height, width = embedder.image_shape
    side = height if height == width else None
    archive = open_archive(images, split, parts.listing, image_size=side, on_bad=on_bad)
    now.images, now.archive = archive.total, archive.digest
    if then is None:
        parts.begin(now)
    else:
        refuse_other(then, now, parts)
    return archive


def _finish(
    out: Path, archive: Archive, parts: Parts, embedder: Embedder, skipped: list[Skipped]
) -> Embedded:
    """Write the file and delete the parts."""
    rows = archive.total - len(skipped)
    if rows == 0:
        raise InputError(
            f"none of the {archive.total} files of {archive.source} can be read; give image files"
        )
    numbers = range(-(-archive.total // PART))
    dim = next(z.shape[1] for z, _ in map(parts.read, numbers) if len(z))
    whole = Whole(archive, parts.read, rows, dim, embedder.about())
    unread = tuple(one.name for one in skipped)
    names = None
    if out.suffix == ".parquet":
        write_parquet(out, whole)
    else:
        if isinstance(archive, Files):
            names = out.with_suffix(".files.txt")
        write_npy(out, whole, partial(_write_beside, archive, unread, out))
    changes = archive.changes()
    shutil.rmtree(parts.folder)
    return Embedded((rows, dim), names, archive.skipped + unread, changes.new, changes.changed)


def _write_beside(archive: Archive, skipped: tuple[str, ...], out: Path) -> None:
    if isinstance(archive, Files):
        write_names(archive.files, skipped, out)


def _refuse_bad(skipped: list[Skipped], on_bad: OnBad) -> None:
    """Raise the error for the first unreadable image, unless such images are skipped."""
    if skipped and on_bad == "stop":
        raise refuse(skipped[0])


def _read(image_shape: ImageShape, piece: Piece) -> Block:
    """Decode images to the shape of the learner's."""
    channels, height, width = image_shape
    images, skipped = piece.decode(height, width)
    return _with_channels(images, channels), skipped


class _Steps:
    """Stops at an unreadable image if asked to, and tells the progress."""

    def __init__(
        self, total: int, missing: list[int], on_bad: OnBad, progress: Progress | None
    ) -> None:
        self._total, self._on_bad, self._progress = total, on_bad, progress
        self._done = total - sum(min(PART, total - number * PART) for number in missing)
        self._tell()

    def __call__(self, chunk: Part, images: int) -> None:
        _refuse_bad(chunk.skipped, self._on_bad)
        self._done += images
        self._tell()

    def _tell(self) -> None:
        if self._progress is not None:
            self._progress(self._done, self._total)


def _with_channels(images: np.ndarray, channels: int) -> np.ndarray:
    """Convert colour to grey, or grey to colour, to match the run."""
    if images.shape[1] == 1 and channels == 3:
        return np.repeat(images, 3, axis=1)
    if images.shape[1] == 3 and channels == 1:
        grey = np.einsum("nchw,c->nhw", images.astype(np.float32), LUMA)
        return np.asarray(grey.round().astype(np.uint8)[:, None])
    return images
