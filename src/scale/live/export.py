"""Named images for other programs: CSV, folders, COCO, Hugging Face imagefolder."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from PIL import Image

from scale._errors import InputError, UnwritableError
from scale._files import write_atomic
from scale.live.names import UNKNOWN, Named
from scale.live.store import Store

Format = Literal["csv", "folders", "coco", "imagefolder"]
LONGEST = 60  # characters of a folder's name
ALLOWED = set(" -_.,()+&'")  # beside letters and digits


def export_names(store: Store, rows: Sequence[Named], form: Format, to: Path) -> int:
    """Write named images; return how many.

    Images are PNGs of the learner's size. A folder is written whole or not at all.

    Parameters
    ----------
    store
        The store with the images.
    rows
        Images and their names. Those that are unknown are only in the CSV.
    form
        csv: one row per image. folders: one folder for each name. coco: images and
        annotations.json, with the name as category and a box around the whole image. imagefolder:
        images and metadata.csv, as the datasets library of Hugging Face reads them.
    to
        A file for csv; else a folder, which must be new or empty.
    """
    if form == "csv":
        if to.is_dir():
            raise InputError(f"{to} is a folder; give a file for csv, such as {to / 'names.csv'}")
        write_atomic(to, _as_csv(rows))
        return len(rows)
    sure = [row for row in rows if row.name != UNKNOWN]
    if not sure:
        raise InputError("no image has a name yet; name some with: scale name DIR NAME IMAGE...")
    with _new_folder(to) as part:
        if form == "folders":
            _write_folders(store, sure, part)
        elif form == "coco":
            _write_coco(store, sure, part)
        else:
            _write_imagefolder(store, sure, part)
    return len(sure)


def _as_csv(rows: Sequence[Named]) -> str:
    out = io.StringIO()
    table = csv.writer(out)
    table.writerow(["image", "path", "name", "confidence", "given", "decided_by"])
    for row in rows:
        why = " ".join(map(str, row.decided_by))
        values = [row.id, _cell(row.path or ""), _cell(row.name), f"{row.confidence:.4f}"]
        table.writerow([*values, "yes" if row.given else "no", why])
    return out.getvalue()


def _cell(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _write_folders(store: Store, rows: Sequence[Named], folder: Path) -> None:
    places = folder_names([row.name for row in rows])
    for row in rows:
        (folder / places[row.name]).mkdir(exist_ok=True)
        _write_image(store, row.id, folder / places[row.name])


def _write_coco(store: Store, rows: Sequence[Named], folder: Path) -> None:
    names = sorted({row.name for row in rows})
    category = {name: at for at, name in enumerate(names, start=1)}
    (folder / "images").mkdir()
    images, notes = [], []
    for at, row in enumerate(rows, start=1):
        path, (width, height) = _write_image(store, row.id, folder / "images")
        file = f"images/{path.name}"
        images.append({"id": row.id, "file_name": file, "width": width, "height": height})
        notes.append(
            {
                "id": at,
                "image_id": row.id,
                "category_id": category[row.name],
                "bbox": [0, 0, width, height],
                "area": width * height,
                "iscrowd": 0,
                "score": round(row.confidence, 4),
            }
        )
    categories = [{"id": number, "name": name} for name, number in category.items()]
    whole = {"images": images, "annotations": notes, "categories": categories}
    write_atomic(folder / "annotations.json", json.dumps(whole))


def _write_imagefolder(store: Store, rows: Sequence[Named], folder: Path) -> None:
    (folder / "train").mkdir()
    out = io.StringIO()
    table = csv.writer(out)
    table.writerow(["file_name", "name", "confidence", "given", "path"])
    for row in rows:
        path, _ = _write_image(store, row.id, folder / "train")
        given = "yes" if row.given else "no"
        table.writerow([path.name, row.name, f"{row.confidence:.4f}", given, row.path or ""])
    write_atomic(folder / "train" / "metadata.csv", out.getvalue())


def _write_image(store: Store, number: int, folder: Path) -> tuple[Path, tuple[int, int]]:
    image = Image.fromarray(store.pixels([number])[0].transpose(1, 2, 0))
    path = folder / f"{number:08d}.png"
    image.save(path)
    return path, image.size


def folder_names(names: Sequence[str]) -> dict[str, str]:
    """Return a folder for each name: it stays inside its parent, and no two are the same.

    Examples
    --------
    >>> folder_names(["red apple", "../x", "a/b", "A_B"])
    {'../x': '_x', 'A_B': 'A_B', 'a/b': 'a_b-2', 'red apple': 'red apple'}
    """
    taken: set[str] = set()
    places: dict[str, str] = {}
    for name in sorted(set(names)):
        plain = "".join(one if one.isalnum() or one in ALLOWED else "_" for one in name)
        plain = plain.encode()[:LONGEST].decode(errors="ignore").strip(" .") or "_"
        place, number = plain, 2
        while place.casefold() in taken:  # some file systems know no upper case
            place, number = f"{plain}-{number}", number + 1
        taken.add(place.casefold())
        places[name] = place
    return places


@contextlib.contextmanager
def _new_folder(to: Path) -> Iterator[Path]:
    """Yield a folder beside `to` that takes its place when the block succeeds."""
    if to.exists() and not (to.is_dir() and not any(to.iterdir())):
        raise InputError(f"{to} exists and is not an empty folder; choose another --to")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{to.name}-", dir=to.parent))
        try:
            yield part
            os.chmod(part, 0o777 & ~_umask())
            part.replace(to)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise UnwritableError(
            f"cannot write {to}: {error.strerror or error}; free some space or choose another --to"
        ) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
