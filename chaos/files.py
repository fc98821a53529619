"""Damaged files, and the commands that read them."""

from __future__ import annotations

import functools
import os
import random
from collections.abc import Iterator
from pathlib import Path

from chaos.damage import Damage, every_kind
from chaos.execute import Outcome
from chaos.judge import Case, Finding, Result, judge, shell
from chaos.readers import Reader, readers
from chaos.world import World, scratch

PART = "files"
FEW = 6
"""Readers in a short campaign."""
ENOUGH = 500
"""Cases of a whole campaign."""
KEPT_BY = ("table", "plot", "embed", "evaluate", "results", "streams")
"""Commands that change no file that was there, except the one that they are told to write."""
GROWS = ("log.txt", ".lock", ".job", "metrics.jsonl", "status.json", ".sqlite")
"""Files that a refused resume may have changed: it makes again what follows the checkpoint."""


@functools.cache
def _found(world: World) -> tuple[list[tuple[Reader, Path, str]], dict[str, str]]:
    """Return (reader, file that it opens, its result without damage), and readers that fail."""
    found, broken = [], {}
    every = readers(world)
    for reader in random.Random(world.seed).sample(every, FEW) if world.short else every:
        with scratch(world.cases) as folder:
            try:
                opened, result = reader.reads(world, folder)
            except RuntimeError as error:
                broken[reader.name] = str(error)
                continue
        found += [(reader, path, result) for path in sorted(opened)]
    return found, broken


def subjects(world: World) -> list[str]:
    """Return the files that are read back."""
    return sorted({_subject(path) for _, path, _ in _found(world)[0]})


def enough(world: World) -> int:
    """Return the number of cases of a whole campaign."""
    return max(ENOUGH, len(subjects(world)))


def cases(world: World, rng: random.Random) -> Iterator[Case]:
    """Yield a case of each file that is read back, then a second of each, and so on."""
    queues: dict[str, list[tuple[Reader, Path, str, Damage, int]]] = {}
    found, broken = _found(world)
    for name, why in broken.items():
        yield _broken(name, why)
    for reader, path, result in found:
        others = _others(world, path)
        for number, damage in enumerate(every_kind(path, others)):
            queues.setdefault(_subject(path), []).append((reader, path, result, damage, number))
    for queue in queues.values():
        rng.shuffle(queue)
        queue.sort(key=lambda one: one[0].dear and rng.random() < 0.7)
    while queues:
        for name in list(queues):
            yield _case(world, name, *queues[name].pop())
            if not queues[name]:
                del queues[name]


def _broken(name: str, why: str) -> Case:
    """Return the case of a reader that fails on files that are not damaged."""
    failed = Result([Finding("broken", f"{name} fails without damage", why)])
    return Case(PART, f"{name} without damage", name, lambda _: failed)


def _subject(path: Path) -> str:
    """Return the file's name for the coverage: images of one folder are one subject."""
    if path.suffix in (".png", ".jpg"):
        return f"data/photos/*{path.suffix}"
    if path.suffix == ".images":
        return "cache/*.images"
    parts = ["RUN" if "-seed" in part else part for part in path.parts]
    return "/".join(parts)


def _others(world: World, path: Path) -> list[Path]:
    """Return other valid files of the kind, at most two."""
    same = [one for one in sorted(world.root.rglob(path.name)) if one.is_file()]
    alike = [one for one in sorted(world.root.rglob(f"*{path.suffix}")) if one.is_file()]
    mine = (world.root / path).read_bytes()
    return [one for one in (*same, *alike[::7]) if one.read_bytes() != mine][:2]


def _case(
    world: World, subject: str, reader: Reader, path: Path, result: str, damage: Damage, number: int
) -> Case:
    name = f"{reader.name}: {path} {damage.name} ({number})"

    def run(folder: Path) -> Result:
        reader.copy(world, folder)
        damage.apply(folder / path, random.Random(name))
        before = _contents(folder)
        outcome = reader.run(folder)
        found = judge(outcome, folder)
        if not found:
            found += _silent(reader, damage, path, result, reader.result(folder, outcome), outcome)
            found += _lost(reader, before, folder, outcome)
        return Result(found)

    return Case(PART, name, subject, run, f"{shell(reader.arguments)}  # {path}: {damage.name}")


def _silent(
    reader: Reader, damage: Damage, path: Path, wanted: str, got: str, outcome: Outcome
) -> list[Finding]:
    """Return a finding when a damage changed the result without a word about it."""
    if outcome.status != 0 or damage.forged or not (damage.certain or reader.exact):
        return []
    told = path.name in f"{outcome.out}{outcome.err}" or "warning" in outcome.out
    if got == wanted or told:
        return []
    return [Finding("silent", f"{damage.name}: another result without a word",
                    f"{outcome.err}\n{outcome.out}"[-2000:])]  # fmt: skip


def _lost(
    reader: Reader, before: dict[Path, bytes], folder: Path, outcome: Outcome
) -> list[Finding]:
    """Return a finding when a refused command, or one that only reads, changed files."""
    if outcome.status == 0 and reader.arguments[0] not in KEPT_BY:
        return []
    after = _contents(folder)
    meant = {"records.jsonl"} if "--to" in reader.arguments else set[str]()
    meant |= {"answer.jsonl"} if "--archive" in reader.arguments else set()
    changed = [
        path
        for path, content in before.items()
        if path.name not in meant and not path.name.endswith(GROWS) and after.get(path) != content
    ]
    if not changed or "cache" in changed[0].parts:
        return []
    names = ", ".join(sorted({_subject(path) for path in changed}))
    return [Finding("loss", f"{reader.name} changed {names} (status {outcome.status})",
                    f"{outcome.err}\n{outcome.out}"[-2000:])]  # fmt: skip


def _contents(folder: Path) -> dict[Path, bytes]:
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = Path(where) / name
            if path.is_file() and not path.is_symlink():
                found[path.relative_to(folder)] = path.read_bytes()
    return found


__all__ = ["PART", "cases", "subjects"]
