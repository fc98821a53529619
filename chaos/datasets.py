"""Damages of parquet and image files."""

from __future__ import annotations

import io
import random
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chaos.damage import Damage

MODES = (
    ("RGBA", "PNG"), ("P", "PNG"), ("I;16", "PNG"), ("CMYK", "JPEG"), ("1", "PNG"), ("LA", "PNG"),
    ("F", "TIFF"), ("RGB", "GIF"), ("RGB", "WEBP"),
)  # fmt: skip


def damages(path: Path) -> list[Damage]:
    """Return the damages for the file's own format."""
    match path.suffix:
        case ".parquet":
            return _parquet()
        case ".png" | ".jpg":
            return _images()
    return []


def _parquet() -> list[Damage]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def changed(change: Callable[[dict[str, list[Any]]], dict[str, Any]]) -> Any:
        def apply(path: Path, rng: random.Random) -> None:
            columns = change(pq.read_table(path).to_pydict())
            pq.write_table(pa.table(columns), path)

        return apply

    def images(value: Any) -> Any:
        return changed(lambda c: {**c, "image": [value, *c["image"][1:]]})

    changes: dict[str, Any] = {
        "no label": changed(lambda c: {"image": c["image"]}),
        "no image": changed(lambda c: {"label": c["label"]}),
        "labels of text": changed(lambda c: {**c, "label": [f"k{x}" for x in c["label"]]}),
        "labels of fractions": changed(lambda c: {**c, "label": [x + 0.5 for x in c["label"]]}),
        "labels of lists": changed(lambda c: {**c, "label": [[x] for x in c["label"]]}),
        "a label is null": changed(lambda c: {**c, "label": [None, *c["label"][1:]]}),
        "labels of 10**12": changed(lambda c: {**c, "label": [x * 10**12 for x in c["label"]]}),
        "negative labels": changed(lambda c: {**c, "label": [-x for x in c["label"]]}),
        "no rows": changed(lambda c: {name: values[:0] for name, values in c.items()}),
        "no columns": changed(lambda c: {}),
        "an image is null": images(None),
        "an image is noise": images({"bytes": b"noise", "path": "x"}),
        "an image without bytes": images({"bytes": None, "path": "/etc/passwd"}),
        "images of text": changed(lambda c: {**c, "image": ["x"] * len(c["image"])}),
        "a second label": changed(lambda c: {**c, "fine_label": c["label"]}),
        "huggingface notes": _noted,
    }
    return [Damage(f"parquet: {name}", change) for name, change in changes.items()]


def _noted(path: Path, rng: random.Random) -> None:
    """Write notes of the hub's library that do not fit."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    text = rng.choice(["[]", "{", '{"info": 3}', '{"info": {"features": {"label": {"names": 5}}}}'])
    pq.write_table(table.replace_schema_metadata({"huggingface": text}), path)


def _images() -> list[Damage]:
    from PIL import Image

    def saved(mode: str, size: tuple[int, int], kind: str) -> Any:
        def apply(path: Path, rng: random.Random) -> None:
            data = io.BytesIO()
            Image.new(mode, size).save(data, kind)
            path.write_bytes(data.getvalue())

        return apply

    def bomb(path: Path, rng: random.Random) -> None:
        data = io.BytesIO()
        Image.new("L", (8, 8)).save(data, "PNG")
        raw = bytearray(data.getvalue())
        raw[16:24] = struct.pack(">II", 60_000, 60_000)
        raw[29:33] = struct.pack(">I", zlib.crc32(raw[12:29]))
        path.write_bytes(raw)

    def odd_name(path: Path, rng: random.Random) -> None:
        path.rename(path.with_name("a\nb\x1b[31m\udce9" + path.suffix))

    sizes = {"1 x 1": (1, 1), "1 x 500": (1, 500), "9 x 7": (9, 7), "3000 x 3000": (3000, 3000)}
    found = [Damage(f"an image of {name}", saved("L", size, "PNG")) for name, size in sizes.items()]
    for mode, kind in MODES:
        name = f"an image of {mode} as {kind}"
        found.append(Damage(name, saved(mode, (8, 8), kind)))
    return [*found, Damage("an image bomb", bomb, certain=True), Damage("an odd name", odd_name)]
