"""Write damaged and foreign files: each function fills a folder and yields (name, path).

The tests and the chaos campaign load every one of them. None is large on disk.
"""

from __future__ import annotations

import io
import json
import os
import socket
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

Cases = Iterator[tuple[str, Path]]
PIXELS = np.arange(4 * 8 * 8 * 3, dtype=np.uint8).reshape(4, 8, 8, 3)
HTML = b"<!DOCTYPE html><html><body>404 Not Found</body></html>"


def special_files(folder: Path, name: str) -> Cases:
    """Write what is no regular file, or cannot be read, under the name of a file."""
    for kind, make in _SPECIAL.items():
        path = folder / kind / name
        path.parent.mkdir(parents=True)
        make(path)
        yield kind, path


def damaged_npy(folder: Path) -> Cases:
    """Write .npy files that hold no usable images."""
    good = _npy(PIXELS)
    contents = {
        "zero bytes": b"",
        "html": HTML,
        "half": good[: len(good) // 2],
        "magic only": good[:6],
        "header cut": good[:20],
        "a version of the future": good[:6] + b"\x09\x00" + good[8:],
        "objects": _npy(np.array([{"a": 1}, None], dtype=object), allow_pickle=True),
        "terabytes": _header("(1000000, 3, 1000, 1000)"),
        "more than 64 bits": _header("(9223372036854775807, 9223372036854775807)"),
        "a negative side": _header("(-4, 8, 8, 3)"),
        "a side of text": _header("('a', 8)"),
        "nested brackets": _header("(" * 5000 + ")" * 5000),
        "a header that is code": _header("__import__('os').getcwd()"),
        "complex": _npy(PIXELS.astype(complex)),
        "records": _npy(np.zeros(4, [("a", "u1"), ("b", "f4")])),
        "dates": _npy(np.zeros((4, 8, 8), "datetime64[s]")),
        "words": _npy(np.array(["a", "b"])),
        "no images": _npy(PIXELS[:0]),
        "a number": _npy(np.array(3, np.uint8)),
        "a zip": _npz({"images": PIXELS}),
    }
    yield from _write(folder, contents, ".npy")


def damaged_npz(folder: Path) -> Cases:
    """Write .npz files whose images or labels cannot be used."""
    good, packed = _npz({"images": PIXELS}), _npz({"images": PIXELS}, compressed=True)
    labels: dict[str, Any] = {
        "labels of 10**12": np.full(4, 10**12),
        "negative labels": np.array([0, 1, -1, 2]),
        "labels of fractions": np.array([0.5, 1, 2, 3]),
        "labels of nan": np.full(4, np.nan),
        "too few labels": np.arange(3),
        "labels in a square": np.zeros((4, 4), int),
        "labels of objects": np.array([0, None, "a", 2], dtype=object),
        "labels beyond 64 bits": np.full(4, 2**63, np.uint64),
    }
    contents = {
        "zero bytes": b"",
        "html": HTML,
        "half": good[: len(good) // 2],
        "a bad byte": _with_bad_byte(good),
        "a bad byte, compressed": _with_bad_byte(packed),
        "encrypted": _zip_field(packed, flags=1),
        "unknown compression": _zip_field(packed, method=97),
        "a directory that lies": packed[:-12] + b"\xff\xff\xff\x7f" + packed[-8:],
        "no images": _npz({"weights": PIXELS}),
        "empty": _npz({}),
        "a text among arrays": _zip({"images.npy": HTML}),
        "text without a suffix": _zip({"images": HTML}),
        "terabytes": _zip({"images.npy": _header("(1000000, 3, 1000, 1000)")}),
        "a bomb": _zip({"images.npy": _header("(40000, 3, 1000, 1000)") + b"\0" * 1000}),
        "nested brackets": _zip({"images.npy": _header("(" * 5000 + ")" * 5000)}),
        "objects": _npz({"images": np.array([None, 3], dtype=object)}),
        "class names of numbers": _npz(
            {"images": PIXELS, "labels": np.arange(4), "class_names": np.array(3)}
        ),
        "too few class names": _npz(
            {"images": PIXELS, "labels": np.arange(4), "class_names": np.array(["a"])}
        ),
        **{name: _npz({"images": PIXELS, "labels": found}) for name, found in labels.items()},
    }
    yield from _write(folder, contents, ".npz")


def damaged_images(folder: Path) -> Cases:
    """Write image files that cannot be decoded."""
    png, jpeg = _encode("PNG"), _encode("JPEG")
    contents = {
        "zero bytes.png": b"",
        "html.jpg": HTML,
        "half.png": png[: len(png) // 2],
        "half.jpg": jpeg[: len(jpeg) // 2],
        "header only.png": png[:33],
        "a bad byte.png": _with_bad_byte(png),
        "huge sides.png": _png_claiming(200_000, 200_000),
        "no sides.png": _png_claiming(0, 8),
        "animated.gif": _animated(),
        "a program.eps": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\nshowpage\n",
        "text.png": b"P1 is only a text",
    }
    yield from _write(folder, contents, "")


def damaged_parquet(folder: Path) -> Cases:
    """Write folders of one train split in the layout of the hub; each has something wrong."""
    images = [_encode("PNG")] * 4
    good = _parquet(images, [0, 1, 0, 1])
    one: dict[str, bytes] = {
        "zero bytes": b"",
        "html": HTML,
        "half": good[: len(good) // 2],
        "no footer": good[:-8] + b"\0" * 8,
        "a footer that lies": good[:-8] + struct.pack("<I", 2**31 - 1) + b"PAR1",
        "bad bytes in the footer": good[:-60] + bytes(40) + good[-20:],
        "bad bytes in the data": good[:40] + b"\xff" * 60 + good[100:],
        "no rows": _parquet([], []),
        "no image column": _parquet(images, [0, 1, 0, 1], image="picture", about="{}"),
        "images without bytes": _parquet([None] * 4, [0, 1, 0, 1]),
        "images of numbers": _parquet([1, 2, 3, 4], [0, 1, 0, 1], kind="int64"),
        "images of text": _parquet(["a", "b", "c", "d"], [0, 1, 0, 1], kind="string"),
        "missing labels": _parquet(images, [0, None, 0, 1]),
        "nested labels": _parquet(images, [[0], [1], [0, 1], []]),
        "labels of tables": _parquet(images, [{"a": 1}] * 4),
        "labels of fractions": _parquet(images, [0.5, 1.0, 0.0, 1.0]),
        "labels of nan": _parquet(images, [float("nan")] * 4),
        "negative labels": _parquet(images, [0, -1, -2, 1]),
        "labels of 10**12": _parquet(images, [0, 10**12, 0, 1]),
        "labels beyond their names": _parquet(images, [0, 1, 7, 1], names=["a", "b"]),
        "names of numbers": _parquet(images, [0, 1, 0, 1], names=3),
        "a description of another shape": _parquet(images, [0, 1, 0, 1], about="[1, 2]"),
        "features of another shape": _parquet(
            images, [0, 1, 0, 1], about='{"info": {"features": 3}}'
        ),
        "a description that is no text": _parquet(images, [0, 1, 0, 1], about=b"\xff\xfe"),
    }
    second = {
        "a shard without labels": _parquet(images, None),
        "a shard with words for labels": _parquet(images, ["a", "b", "a", "b"]),
        "a shard with another image column": _parquet(images, [0, 1, 0, 1], image="img"),
        "a shard with bare bytes": _parquet(images, [0, 1, 0, 1], kind="binary"),
        "a shard with lists for labels": _parquet(images, [[0], [1], [0], [1]]),
        "a shard with other class names": _parquet(images, [0, 1, 0, 1], names=["b", "a"]),
        "a damaged shard": good[: len(good) // 2],
    }
    first = _parquet(images, [0, 1, 0, 1], names=["a", "b"])
    for name, content in one.items():
        yield name, _put(folder / name / "train-00000-of-00001.parquet", content).parent
    for name, content in second.items():
        _put(folder / name / "train-00000-of-00002.parquet", first)
        yield name, _put(folder / name / "train-00001-of-00002.parquet", content).parent
    _put(folder / "a shard is missing" / "train-00000-of-00002.parquet", first)
    yield "a shard is missing", folder / "a shard is missing"


def foreign_jsonl(folder: Path, good: dict[str, Any]) -> Cases:
    """Write files of JSON lines that are no records of runs; `good` is a record that is."""
    for name, path in _foreign_json(good):
        yield name, _put(folder / f"{name}.jsonl", path)


def _foreign_json(good: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    line = json.dumps(good).encode()
    yield "latin-1", '{"name": "\u00fcber"}\n'.encode("latin-1")
    yield "utf-16", line.decode().encode("utf-16")
    yield "half a line first", line[: len(line) // 2] + b"\n" + line + b"\n"
    yield "html", HTML + b"\n"
    yield "nested brackets", b"[" * 100_000 + b"\n" + line + b"\n"
    yield "a huge number", b'{"run": 1' + b"0" * 5000 + b"}\n"
    for text in ("null", "3", '"text"', "[]", "[1, 2]", "true", "{}", "NaN"):
        yield f"only {text.strip(chr(34))}", text.encode() + b"\n"
    for at in _paths(good):
        for wrong in (None, 3, "text", [1], {}):
            changed = _replaced(good, at, wrong)
            if changed is not None:
                yield f"{'.'.join(at)} is {wrong!r}", json.dumps(changed).encode() + b"\n"
        yield f"{'.'.join(at)} is missing", json.dumps(_without(good, at)).encode() + b"\n"


def foreign_toml(folder: Path, good: str) -> Cases:
    """Write TOML files that do not fit; `good` is the text of one that does."""
    first = good.splitlines()[0].split("=")[0].strip()
    rest = "\n".join(good.splitlines()[1:])
    contents = {
        "latin-1": "title = '\u00fcber'\n".encode("latin-1") + good.encode(),
        "utf-16": good.encode("utf-16"),
        "zeros": bytes(100),
        "empty": b"",
        "html": HTML,
        "cut": good.encode()[: len(good) // 2] + b'"',
        "an entry twice": (good.splitlines()[0] + "\n" + good).encode(),
        "an unknown entry": b"colour = 'red'\n" + good.encode(),
        "a misspelt entry": good.replace(first, first[:-1] + "q", 1).encode(),
        "nested brackets": b"colour = " + b"[" * 5000 + b"]" * 5000,
        **{
            f"{first} is {wrong}": f"{first} = {wrong}\n{rest}".encode()
            for wrong in ("3", "true", "[1]", "{a = 1}", "2020-01-01", "inf")
        },
    }
    yield from _write(folder, contents, ".toml")


def _paths(value: Any, at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield (*at, key)
        yield from _paths(inner, (*at, key))


def _replaced(good: dict[str, Any], at: tuple[str, ...], wrong: Any) -> dict[str, Any] | None:
    copy = json.loads(json.dumps(good))
    inside = copy
    for key in at[:-1]:
        inside = inside[key]
    if type(inside[at[-1]]) is type(wrong):
        return None
    inside[at[-1]] = wrong
    return dict(copy)


def _without(good: dict[str, Any], at: tuple[str, ...]) -> dict[str, Any]:
    copy = json.loads(json.dumps(good))
    inside = copy
    for key in at[:-1]:
        inside = inside[key]
    del inside[at[-1]]
    return dict(copy)


def _write(folder: Path, contents: dict[str, bytes], suffix: str) -> Cases:
    for name, content in contents.items():
        yield name, _put(folder / f"{name.replace('*', '')}{suffix}", content)


def _put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _socket(path: Path) -> None:
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(path.parent)  # a socket's path must be short
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)


def _unreadable(path: Path) -> None:
    path.write_bytes(HTML)
    path.chmod(0)


_SPECIAL: dict[str, Callable[[Path], Any]] = {
    "a folder": Path.mkdir,
    "a pipe": os.mkfifo,
    "a socket": _socket,
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a loop of links": _loop,
    "a broken link": lambda path: path.symlink_to("nowhere"),
    "no permission": _unreadable,
}


def _npy(array: np.ndarray, allow_pickle: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=allow_pickle)
    return buffer.getvalue()


def _npz(arrays: dict[str, np.ndarray], *, compressed: bool = False) -> bytes:
    buffer = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(buffer, **arrays)
    return buffer.getvalue()


def _header(shape: str, dtype: str = "|u1") -> bytes:
    """Return a .npy file that claims a shape and has no data."""
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text


def _zip(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


def _zip_field(content: bytes, *, flags: int = 0, method: int | None = None) -> bytes:
    """Return a zip of one member with other flags and another method in both of its headers."""
    changed = bytearray(content)
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = changed.index(signature) + at
        changed[start] |= flags
        if method is not None:
            changed[start + 2 : start + 4] = struct.pack("<H", method)
    return bytes(changed)


def _with_bad_byte(content: bytes) -> bytes:
    middle = len(content) // 2
    return (
        content[:middle]
        + bytes(255 - byte for byte in content[middle : middle + 8])
        + content[middle + 8 :]
    )


def _encode(kind: str) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(PIXELS[0]).save(buffer, kind)
    return buffer.getvalue()


def _animated() -> bytes:
    buffer = io.BytesIO()
    first, second = Image.fromarray(PIXELS[0]), Image.fromarray(PIXELS[1])
    first.save(buffer, "GIF", save_all=True, append_images=[second])
    return buffer.getvalue()


def _png_claiming(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    about = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = chunk(b"IHDR", about) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + data


def _parquet(
    images: list[Any],
    labels: list[Any] | None,
    *,
    image: str = "image",
    kind: str = "struct",
    names: Any = None,
    about: str | bytes | None = None,
) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {
        "struct": pa.struct([("bytes", pa.binary()), ("path", pa.string())]),
        "binary": pa.binary(),
        "string": pa.string(),
        "int64": pa.int64(),
    }
    cells = [{"bytes": one, "path": None} for one in images] if kind == "struct" else images
    columns = {image: pa.array(cells, types[kind])}
    if labels is not None:
        columns["label"] = pa.array(labels, None if labels else pa.int64())
    features: dict[str, Any] = {image: {"_type": "Image"}}
    if names is not None:
        features["label"] = {"_type": "ClassLabel", "names": names}
    text = json.dumps({"info": {"features": features}}) if about is None else about
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns).replace_schema_metadata({"huggingface": text}), buffer)
    return buffer.getvalue()
