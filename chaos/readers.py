"""The commands that read files back, each on copies of the templates that it needs."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from chaos import bases, execute
from chaos.execute import Around, Outcome
from chaos.watch import opened_below
from chaos.world import World

MOMENTS = re.compile(r"\d+(\.\d+)? (s|min|h|images/s)\b|\d+\.\d+ min left")


@dataclass(frozen=True)
class Reader:
    """A command that reads files."""

    name: str
    arguments: tuple[str, ...]
    needs: tuple[str, ...]
    """Templates to copy into the case's folder; what the command opens in them is damaged."""
    results: tuple[str, ...] = ()
    """Files that must be as without damage, or the user is told. Without any: the output."""
    exact: bool = False
    """It goes on with a run: every damage must be refused, told, or change nothing."""
    dear: bool = False
    """It takes seconds."""

    def copy(self, world: World, folder: Path) -> None:
        """Copy the templates that it needs."""
        for need in self.needs:
            source, target = world.root / need, folder / need
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copy2(source, target)

    def run(self, folder: Path) -> Outcome:
        """Run the command in the folder; the cache of a case is in its own folder."""

        def own_cache() -> None:
            os.environ["SCALE_CACHE"] = str(folder / "cache")
            os.environ["SCALE_DATA"] = str(folder / "data")

        return execute.command(self.arguments, folder, Around(before=own_cache))

    def result(self, folder: Path, outcome: Outcome) -> str:
        """Return a digest of what the command made."""
        if not self.results:
            return MOMENTS.sub("", outcome.out)
        return digest_of(folder, self.results)

    def reads(self, world: World, folder: Path) -> tuple[set[Path], str]:
        """Return the files of its templates that it opens, and its result without damage."""
        self.copy(world, folder)
        before = {path for path in folder.rglob("*") if path.is_file()}
        with opened_below(folder) as opened:
            outcome = self.run(folder)
        if outcome.status != 0:
            raise RuntimeError(f"{self.name} fails without damage: {outcome.err}{outcome.out}")
        kept = {path for path in opened & before if path.suffix and not path.name.startswith(".")}
        useful = {path for path in kept if path.name != "log.txt" and path.suffix != ".lock"}
        return {path.relative_to(folder) for path in useful}, self.result(folder, outcome)


def digest_of(folder: Path, names: Iterable[str]) -> str:
    """Return a digest of the named files; the times in summaries and records do not count."""
    digest = hashlib.sha256()
    for name in names:
        for path in sorted(folder.glob(name)):
            digest.update(path.name.encode() + _content(path))
    return digest.hexdigest()


def readers(world: World) -> list[Reader]:
    """Return every command that reads files, on each kind of file."""
    end = ("metrics.jsonl", "learner.safetensors", "summary.json")
    stopped = tuple(f"stopped/{name}" for name in end)
    finished = tuple(f"run/{name}" for name in end)
    quick, photos = ["--no-pictures", "--out", "new"], str(world.photos)
    found = [
        Reader("resume", ("run", "--out", "stopped", "--resume", "--no-pictures"),
               ("stopped",), stopped, exact=True),
        Reader("resume finished", ("run", "--out", "run", "--resume", "--no-pictures"),
               ("run",), finished, exact=True),
        Reader("pictures", ("run", "--out", "run", "--resume"),
               ("run",), ("run/*.png",), dear=True),
        Reader("evaluate", ("evaluate", "run"), ("run",)),
        Reader("evaluate stopped", ("evaluate", "stopped"), ("stopped",)),
        Reader("embed", ("embed", "run", photos, "--out", "z.npy"), ("run",), ("z.npy",)),
        Reader("embed stopped", ("embed", "stopped", photos, "--out", "z.npy"),
               ("stopped",), ("z.npy",)),
        Reader("embed learner", ("embed", "run/learner.safetensors", photos, "--out", "z.npy"),
               ("run/learner.safetensors",), ("z.npy",)),
        Reader("table of a run", ("table", "run", "--format", "csv"), ("run",)),
        Reader("table of a bench", ("table", "bench", "--format", "csv"), ("bench",)),
        Reader("table on the terminal", ("table", "bench", "run"), ("bench", "run")),
        Reader("table to", ("table", "run", "--to", "bench/records.jsonl"), ("run", "bench")),
        Reader("plot", ("plot", "bench", "--out", "f.png"), ("bench",), ("f.png",)),
        Reader("plot curves", ("plot", "run", "--kind", "curves", "--out", "f.png"),
               ("run",), ("f.png",)),
        Reader("bench", ("bench", "two.toml", "--out", "bench", "--engine", "in-process"),
               ("two.toml", "bench"), ("bench/records.jsonl",), exact=True),
        Reader("dry run", ("bench", "two.toml", "--dry-run", "--engine", "in-process"),
               ("two.toml",), ("nothing",), dear=True),
        Reader("results", ("results", "results"), ("results",)),
        Reader("results pages", ("results", "results", "--out", "R.md", "--figures", "d/f"),
               ("results",), ("R.md",)),
        Reader("archive", ("results", "results", "--archive"), ("results",)),
        Reader("watch goes on", ("watch", photos, *world.watching(), "--once", "--out", "live"),
               ("live",), ("nothing",), dear=True),
        Reader("own method", ("run", *_own(world), *quick), ("own.py",), ("new/metrics.jsonl",)),
    ]  # fmt: skip
    for source in ("tiny.npz", "packed.npz", "photos", "owner/shards"):
        data = Path("data") / source
        dear = source != "tiny.npz"
        found += [
            Reader(f"run on {source}", ("run", *world.quick("er", data), *quick), (str(data),),
                   ("new/metrics.jsonl",), dear=dear),
            Reader(f"embed {source}", ("embed", str(world.run), str(data), "--out", "z.npy"),
                   (str(data),), ("z.npy",)),
            Reader(f"streams of {source}", ("streams", "--dataset", str(data)), (str(data),),
                   ("streams.png",)),
        ]  # fmt: skip
    cached = ("run", *world.quick("er", world.root / "data" / "owner" / "shards"), *quick)
    found.append(Reader("decoded images", cached, ("cache",), ("new/metrics.jsonl",)))
    images = ("embed", str(world.run), "data/images.npy", "--out", "z.npy")
    found.append(Reader("embed images.npy", images, ("data/images.npy",), ("z.npy",)))
    return [*found, *_others(world, {reader.arguments[0] for reader in found})]


def _others(world: World, known: set[str]) -> Iterator[Reader]:
    """Yield readers of commands that are not listed: accepted calls, on copies of templates."""
    for name, call in bases.every(world).items():
        arguments = tuple(one.removeprefix(f"{world.root}{os.sep}") for one in call)
        needs = tuple(one for one in arguments[1:] if one and (world.root / one).exists())
        if call[0] not in known and call[0] not in bases.WAITS and needs:
            yield Reader(name, arguments, needs)


def _own(world: World) -> list[str]:
    return ["--method", "own.py", *world.quick("simclr")[:2], *world.quick("simclr")[4:]]


def _content(path: Path) -> bytes:
    """Return a file's content, without the times of a summary or a record."""
    if path.suffix not in (".json", ".jsonl") or path.name == "metrics.jsonl":
        return path.read_bytes()
    rows = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    kept = []
    for row in rows:
        try:
            found = json.loads(row)
        except ValueError:
            found = row
        kept.append(json.dumps(_without_times(found), sort_keys=True))
    return "\n".join(sorted(kept)).encode()


def _without_times(value: object) -> object:
    """Return a JSON value without the entries that depend on the clock."""
    if isinstance(value, dict):
        return {key: _without_times(one) for key, one in value.items() if key != "timing"}
    return [_without_times(one) for one in value] if isinstance(value, list) else value
