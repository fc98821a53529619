"""Ways to damage a file: those for every file and for text. Others: `binary`, `datasets`."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.fence import NULL, device

Apply = Callable[[Path, random.Random], object]


@dataclass(frozen=True)
class Damage:
    """One way to damage a file."""

    name: str
    apply: Apply
    certain: bool = False
    """A different result without a word is certainly wrong."""
    forged: bool = False
    """The file is valid in itself, so that a different result is allowed even after a resume."""


def every_kind(path: Path, others: list[Path]) -> list[Damage]:
    """Return the damages for a file, by its suffix; `others` are other valid files of its kind."""
    from chaos import binary, datasets

    text_like = path.suffix in (".jsonl", ".toml", ".py", ".txt")
    # Another valid number is a measurement like the first. A config must fit its checkpoints.
    measured = path.suffix in (".json", ".jsonl") and path.name != "config.json"
    checked = path.suffix in (".safetensors", ".npz")  # they carry digests
    found = [
        Damage("empty", lambda p, _: p.write_bytes(b""), certain=not text_like),
        Damage("half", _cut(0.5), certain=not text_like),
        Damage("last byte gone", _cut(-1), certain=checked),
        Damage("cut anywhere", _cut(None), certain=not text_like),
        Damage("one byte flipped", _flip(1), certain=checked, forged=measured),
        Damage("sixteen bytes flipped", _flip(16), certain=checked, forged=measured),
        Damage("random bytes", _noise, certain=True),
        Damage("zero bytes", lambda p, _: p.write_bytes(bytes(p.stat().st_size)), certain=True),
        Damage("a folder instead", _folder, certain=path.suffix != ".images"),
        Damage("gone", lambda p, _: p.unlink()),
        Damage("a dangling link", _dangling),
        Damage("a device instead", _device),
    ]
    found += [
        Damage(f"replaced by {other.name} {number}", _copy(other), forged=measured)
        for number, other in enumerate(others)
    ]
    match path.suffix:
        case ".json":
            found += list(_json(measured))
        case ".jsonl":
            found += list(_json(measured, lines=True))
        case ".toml":
            found += list(_toml())
        case ".py":
            found += list(_python())
    return [*found, *binary.damages(path), *datasets.damages(path)]


def edit(value: Any, rng: random.Random, how: str) -> Any:
    """Return a JSON value with one random entry changed: its type, its value, gone, or new."""
    places = list(_places(value))
    if how in ("delete", "add"):
        places = [place for place in places if isinstance(place[0], dict)]
    if how == "value":
        places = [place for place in places if isinstance(place[0][place[1]], int | float | str)]
    if not places:
        return value
    holder, key = rng.choice(places)
    if how == "delete":
        del holder[key]
    elif how == "add":
        holder["no such key"] = 1
    elif how == "value":
        holder[key] = _similar(holder[key], rng)
    else:
        wrong = [one for one in WRONG_VALUES if type(one) is not type(holder[key])]
        holder[key] = rng.choice(wrong)
    return value


WRONG_VALUES: tuple[Any, ...] = (
    "x", -1, 1.5, [], {}, True, [None], {"x": {}}, 10**30, float("nan"), float("inf"), "\x1b[31m",
    [[[]]], "9" * 400, 2**63,
)  # fmt: skip
SHAPES = (
    "[]", "null", "3", '"x"', "{}", "[{}]", "true", "NaN", "[" * 100_000, '{"a":' * 50_000,
    "[1, 2", '{"run": []}', '{"run": null, "data": 1}', "1" * 5000, '\ufeff{}', "{'a': 1}",
)  # fmt: skip


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (holder, key) of every entry in nested dicts and lists."""
    if not isinstance(value, dict | list):
        return
    for key, one in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        yield from _places(one)


def _similar(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return value[:-1] if rng.random() < 0.5 else value + "x"
    return value + rng.choice((1, -1, 7))


def _json(measured: bool, *, lines: bool = False) -> Iterator[Damage]:
    for text in SHAPES:
        shown = text if len(text) < 30 else f"{text[:5]}... ({len(text)} characters)"
        yield Damage(f"JSON {shown}", _shape(text, lines), certain=True)
    for how in ("type", "type", "type", "type", "value", "value", "delete", "delete", "add"):
        wrong = how == "type"
        yield Damage(f"JSON edit {how}", _edited(how, lines), wrong, measured and not wrong)
    yield Damage("UTF-16", lambda p, _: p.write_bytes(p.read_text().encode("utf-16")), certain=True)
    yield Damage("a Latin-1 byte", lambda p, _: p.write_bytes(p.read_bytes() + b"\xe9\n"))


def _shape(text: str, lines: bool) -> Apply:
    def apply(path: Path, rng: random.Random) -> None:
        kept = path.read_text().splitlines() if lines else []
        path.write_text("\n".join([*kept[:-1], text]) + "\n")

    return apply


def _edited(how: str, lines: bool) -> Apply:
    def apply(path: Path, rng: random.Random) -> None:
        rows = path.read_text().splitlines() if lines else [path.read_text()]
        number = rng.randrange(len(rows))
        rows[number] = json.dumps(edit(json.loads(rows[number]), rng, how))
        path.write_text("\n".join(rows) + "\n")

    return apply


def _toml() -> Iterator[Damage]:
    values = ("3", "'x'", "[]", "[[]]", "{}", "true", "nan", "-1", "1979-05-27", "[1, 'x']", "''")
    for value in values:
        yield Damage(f"TOML entry = {value}", _entry(value))
    yield Damage("TOML entry twice", _doubled, certain=True)
    yield Damage("TOML unknown entry", lambda p, _: p.write_text("zzz = 1\n" + p.read_text()), True)
    yield Damage("TOML unknown table", lambda p, _: p.write_text(p.read_text() + "[zzz]\n"), True)
    yield Damage("Latin-1", lambda p, _: p.write_bytes(b"# caf\xe9\n" + p.read_bytes()), True)
    yield Damage("TOML without a line", _without_line)


def _entry(value: str) -> Apply:
    def apply(path: Path, rng: random.Random) -> None:
        rows = path.read_text().splitlines()
        number = rng.choice([i for i, row in enumerate(rows) if " = " in row])
        rows[number] = f"{rows[number].split(' = ')[0]} = {value}"
        path.write_text("\n".join(rows) + "\n")

    return apply


def _doubled(path: Path, rng: random.Random) -> None:
    rows = path.read_text().splitlines()
    number = rng.choice([i for i, row in enumerate(rows) if " = " in row])
    path.write_text("\n".join([*rows[: number + 1], *rows[number:]]) + "\n")


def _without_line(path: Path, rng: random.Random) -> None:
    rows = path.read_text().splitlines()
    del rows[rng.randrange(len(rows))]
    path.write_text("\n".join(rows) + "\n")


def _python() -> Iterator[Damage]:
    bodies = {
        "a syntax error": "class",
        "an exception": "raise RuntimeError('no')",
        "exit": "raise SystemExit(3)",
        "no class": "x = 1",
        "a missing import": "import no_such_module",
        "a null byte": "x = '\0'",
        "an endless recursion": "def f():\n    return f()\nf()",
    }
    for name, body in bodies.items():
        yield Damage(f"Python with {name}", _text(body + "\n"), certain=True)


def _text(body: str) -> Apply:
    return lambda path, _: path.write_text(body)


def _cut(share: float | None) -> Apply:
    def apply(path: Path, rng: random.Random) -> None:
        data = path.read_bytes()
        size = len(data) - 1 if share == -1 else int(len(data) * (share or rng.random()))
        path.write_bytes(data[: max(0, size)])

    return apply


def _flip(count: int) -> Apply:
    def apply(path: Path, rng: random.Random) -> None:
        data = bytearray(path.read_bytes())
        for _ in range(count if data else 0):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(data)

    return apply


def _noise(path: Path, rng: random.Random) -> None:
    path.write_bytes(rng.randbytes(path.stat().st_size or 100))


def _folder(path: Path, rng: random.Random) -> None:
    path.unlink()
    path.mkdir()
    (path / "x").write_text("x")


def _dangling(path: Path, rng: random.Random) -> None:
    path.unlink()
    path.symlink_to(path.parent / "nowhere")


def _device(path: Path, rng: random.Random) -> None:
    path.unlink()
    device(path, NULL)


def _copy(other: Path) -> Apply:
    return lambda path, _: shutil.copyfile(other, path)
