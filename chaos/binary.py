"""Damages of safetensors, NumPy and SQLite files."""

from __future__ import annotations

import contextlib
import random
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from chaos.damage import Damage, edit

Arrays = dict[str, np.ndarray]
TEXTS = ("[]", '{"x', "", "null", '{"x": 1}')
"""What the texts in a database become."""


def damages(path: Path) -> list[Damage]:
    """Return the damages for the file's own format."""
    match path.suffix:
        case ".safetensors":
            return _safetensors()
        case ".npz":
            return [*_zip(), *_arrays()]
        case ".npy":
            return _npy()
        case ".sqlite":
            return [Damage(f"sqlite: texts become {text!r}", _texts(text)) for text in TEXTS]
    return []


def _texts(text: str) -> Callable[[Path, random.Random], None]:
    """Return what writes a text into one column of texts."""

    def apply(path: Path, rng: random.Random) -> None:
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            columns = [
                (table, about[1])
                for (table,) in tables
                for about in db.execute(f"PRAGMA table_info({table})")
                if about[2] == "TEXT"
            ]
            table, column = rng.choice(columns)
            db.execute(f"UPDATE OR IGNORE {table} SET {column} = ?", (text,))

    return apply


def _safetensors() -> list[Damage]:
    import torch

    def forge(change: Callable[[dict[str, Any], dict[str, Any], random.Random], None]) -> Any:
        def apply(path: Path, rng: random.Random) -> None:
            from scale._tensors import read_tensors, write_tensors

            tensors, meta = read_tensors(path)
            change(tensors, meta, rng)
            write_tensors(path, tensors, meta)

        return apply

    def one(act: Callable[[Any], Any]) -> Any:
        def change(tensors: dict[str, Any], meta: dict[str, Any], rng: random.Random) -> None:
            name = rng.choice(sorted(tensors))
            tensors[name] = act(tensors[name])

        return forge(change)

    def removed(tensors: dict[str, Any], meta: dict[str, Any], rng: random.Random) -> None:
        del tensors[rng.choice(sorted(tensors))]

    def renamed(tensors: dict[str, Any], meta: dict[str, Any], rng: random.Random) -> None:
        tensors["x"] = tensors.pop(rng.choice(sorted(tensors)))

    def meta_edit(how: str) -> Any:
        return forge(lambda tensors, meta, rng: edit(meta, rng, how) and None)

    acts: dict[str, Callable[[Any], Any]] = {
        "shorter": lambda t: t.reshape(-1)[:-1],
        "longer": lambda t: torch.cat([t.reshape(-1), t.reshape(-1)]),
        "empty": lambda t: t.reshape(-1)[:0],
        "a scalar": lambda t: torch.zeros(()),
        "of whole numbers": lambda t: t.to(torch.int64),
        "of doubles": lambda t: t.to(torch.float64),
        "true and false": lambda t: t.to(torch.bool),
        "not a number": lambda t: torch.full(t.shape, float("nan")),
        "negative": lambda t: -torch.ones_like(t, dtype=torch.int64) * 10**12,
        "transposed": lambda t: t.flatten()[None],
    }
    found = [Damage(f"a tensor {name}", one(act), forged=True) for name, act in acts.items()]
    found += [
        Damage("a tensor is missing", forge(removed), forged=True),
        Damage("a tensor renamed", forge(renamed), forged=True),
        Damage("header length of 2^60", _header(lambda data: struct.pack("<Q", 2**60) + data[8:])),
        Damage("header [] instead of {}", _header(_header_list), certain=True),
    ]
    hows = ("type", "type", "type", "type", "type", "value", "value", "delete", "delete", "add")
    return found + [Damage(f"meta edit {how} {i}", meta_edit(how), forged=True)
                    for i, how in enumerate(hows)]  # fmt: skip


def _header(change: Callable[[bytes], bytes]) -> Any:
    return lambda path, _: path.write_bytes(change(path.read_bytes())) and None


def _header_list(data: bytes) -> bytes:
    (length,) = struct.unpack("<Q", data[:8])
    return data[:8] + b"[]".ljust(length) + data[8 + length :]


def _zip() -> list[Damage]:
    def encrypted(path: Path, rng: random.Random) -> None:
        data = bytearray(path.read_bytes())
        for at in _all(data, b"PK\x01\x02"):
            data[at + 8] |= 1
        for at in _all(data, b"PK\x03\x04"):
            data[at + 6] |= 1
        path.write_bytes(data)

    def unknown_method(path: Path, rng: random.Random) -> None:
        data = bytearray(path.read_bytes())
        for mark, offset in ((b"PK\x01\x02", 10), (b"PK\x03\x04", 8)):
            for at in _all(data, mark):
                data[at + offset] = 99
        path.write_bytes(data)

    def inside(path: Path, rng: random.Random) -> None:
        inner = path.read_bytes()
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("x_train.npz", inner)

    def texts(path: Path, rng: random.Random) -> None:
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("x_train.npy", "hello")

    def middle(path: Path, rng: random.Random) -> None:
        data = bytearray(path.read_bytes())
        at = data.find(b"PK\x03\x04") + 60 + rng.randrange(200)
        data[at : at + 4] = b"\xff\xff\xff\xff"
        path.write_bytes(data)

    return [
        Damage("encrypted", encrypted, certain=True),
        Damage("unknown compression", unknown_method, certain=True),
        Damage("a zip in a zip", inside, certain=True),
        Damage("texts instead of arrays", texts, certain=True),
        Damage("bad bytes in the middle", middle, certain=True),
    ]


def _all(data: bytearray, mark: bytes) -> list[int]:
    found, at = [], data.find(mark)
    while at >= 0:
        found.append(at)
        at = data.find(mark, at + 1)
    return found


ODD: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "floats": lambda a: a.astype(np.float64) / 255,
    "floats beyond all bounds": lambda a: a.astype(np.float64) * 1e300,
    "not a number": lambda a: np.full(a.shape, np.nan),
    "complex": lambda a: a.astype(np.complex64),
    "objects": lambda a: a.astype(object),
    "texts": lambda a: a.astype("U3"),
    "times": lambda a: a.astype("datetime64[s]"),
    "fields": lambda a: np.zeros(a.shape, dtype=[("x", "u1")]),
    "none of them": lambda a: a[:0],
    "one of them": lambda a: a[:1],
    "one more axis": lambda a: a[None, ..., None],
    "one axis": lambda a: a.reshape(-1),
    "a scalar": lambda a: np.asarray(a.reshape(-1)[0]),
    "half of them": lambda a: a[: len(a) // 2],
    "big endian": lambda a: a.astype(">i8"),
    "negative": lambda a: -a.astype(np.int64) - 1,
    "of 10**12": lambda a: a.astype(np.int64) * 10**12,
    "with gaps": lambda a: a.astype(np.int64) * 100,
    "one alone": lambda a: np.where(np.arange(a.size).reshape(a.shape) == 0, 7, a).astype(np.int64),
    "without the first class": lambda a: np.maximum(a, 1),
    "true and false": lambda a: a.astype(bool),
    "unsigned 64": lambda a: a.astype(np.uint64) + np.uint64(2**63),
}
"""Changes of an array that leave a valid file."""


def _arrays() -> list[Damage]:
    def changed(change: Callable[[np.ndarray], np.ndarray]) -> Any:
        def apply(path: Path, rng: random.Random) -> None:
            with np.load(path) as file:
                arrays: Arrays = dict(file)
            name = rng.choice(sorted(arrays))
            arrays[name] = change(arrays[name])
            _save(path, arrays)

        return apply

    def without(path: Path, rng: random.Random) -> None:
        with np.load(path) as file:
            arrays = dict(file)
        del arrays[rng.choice(sorted(arrays))]
        _save(path, arrays)

    def renamed(path: Path, rng: random.Random) -> None:
        with np.load(path) as file:
            arrays = {f"{name}\n\x1b[31m": array for name, array in file.items()}
        _save(path, arrays)

    found = [Damage(f"array {name}", changed(change)) for name, change in ODD.items()]
    return [*found, *found, Damage("an array is missing", without), Damage("other names", renamed)]


def _save(path: Path, arrays: Arrays) -> None:
    with open(path, "wb") as file:
        np.savez(file, allow_pickle=True, **arrays)


HEADERS = {
    "of 10**18 images": "{'descr': '|u1', 'fortran_order': False, 'shape': (10**18, 8, 8), }",
    "of 2**62 images": "{'descr': '|u1', 'fortran_order': False, 'shape': (2**62, 8), }",
    "of negative shape": "{'descr': '|u1', 'fortran_order': False, 'shape': (-1, 8, 8), }",
    "that overflows": "{'descr': '|u1', 'fortran_order': False, 'shape': (" + "9" * 30 + ",), }",
    "nested": "(" * 3000 + ")" * 3000,
    "that is code": "__import__('os').system('true')",
    "of objects": "{'descr': '|O', 'fortran_order': False, 'shape': (3, 8, 8), }",
    "of nothing": "{}",
    "of texts": "{'descr': '<U100', 'fortran_order': False, 'shape': (3,), }",
}  # fmt: skip


def _npy() -> list[Damage]:
    def changed(change: Callable[[np.ndarray], np.ndarray]) -> Any:
        return lambda path, _: np.save(path, change(np.load(path)), allow_pickle=True)

    def header(text: str) -> Any:
        def apply(path: Path, rng: random.Random) -> None:
            line = text.encode() + b"\n"
            body = path.read_bytes()[128:]
            path.write_bytes(b"\x93NUMPY\x02\x00" + struct.pack("<I", len(line)) + line + body)

        return apply

    found = [Damage(f"array {name}", changed(change)) for name, change in ODD.items()]
    found += [Damage(f"header {name}", header(text)) for name, text in HEADERS.items()]
    pack = lambda path, _: path.write_bytes(zlib.compress(path.read_bytes())) and None  # noqa: E731
    return [*found, Damage("compressed", pack, certain=True)]
