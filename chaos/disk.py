"""Full disks, folders that cannot be written, and outputs that nobody reads."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from chaos import bases, execute
from chaos.execute import Around, Outcome
from chaos.judge import Case, Finding, Result, judge, shell
from chaos.kills import finish, reference_of
from chaos.world import LIVE, World

PART = "disk"
METHOD = "er"
SIZES = ("16k", "64k", "700k", "1100k", "1800k", "2400k", "3200k")
"""Sizes of the disk: they run full at the config, the first checkpoint, and so on."""
LIMITS = (4000, 20_000, 600_000)
"""Sizes in bytes beyond which no file grows; the messages, in a file here, are shorter."""
OLD = "old\n" * 300


def subjects(world: World) -> list[str]:
    """Return the commands whose output a whole campaign takes away."""
    return [f"{name} output" for name in {**_writers(world), **_talkers(world)}]


def cases(world: World, rng: random.Random) -> Iterator[Case]:
    """Yield the cases: full, then read-only, then outputs."""
    for size in SIZES:
        yield _full_disk(world, size)
    for limit in LIMITS:
        yield _short_files(world, limit)
    for name, arguments in _writers(world).items():
        yield _full_output(world, name, arguments)
        yield _read_only(world, name, arguments)
    for name, arguments in {**_writers(world), **_talkers(world)}.items():
        for how, stdout in _outputs().items():
            yield _unread(world, name, arguments, how, stdout)


def _run_arguments(world: World) -> list[str]:
    return list(reference_of(world, METHOD).arguments)


def _full_disk(world: World, size: str) -> Case:
    """Run on a disk that gets full; make room, resume, and compare."""

    def run(folder: Path) -> Result:
        arguments = _run_arguments(world)
        with _mounted(folder / "disk", size) as disk:
            if disk is None:
                return Result(cases=0)
            outcome = execute.command(arguments, disk)
            found = _told(outcome, disk)
            _mount("remount,size=64m", disk)
            return Result([*found, *_goes_on(world, arguments, disk)])

    return Case(PART, f"a disk of {size}", "full disk", run, f"scale run --out DISK-OF-{size}/r")


def _short_files(world: World, limit: int) -> Case:
    """Run where no file may be longer than a limit; take it away, resume, and compare."""

    def run(folder: Path) -> Result:
        arguments = _run_arguments(world)
        outcome = execute.command(arguments, folder, Around(before=lambda: _limit(limit)))
        return Result([*_told(outcome, folder), *_goes_on(world, arguments, folder)])

    command = f"(ulimit -f; scale run ...)  # {limit} bytes"
    return Case(PART, f"files of at most {limit} bytes", "full disk", run, command)


def _limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _told(outcome: Outcome, folder: Path) -> list[Finding]:
    """Return the failures of a command that could not write: it must say so and end with 2."""
    return judge(outcome, folder, must_refuse=not (folder / "r" / "summary.json").exists())


def _goes_on(world: World, arguments: list[str], folder: Path) -> list[Finding]:
    return finish(reference_of(world, METHOD), [*arguments, "--resume"], folder)


def _writers(world: World) -> dict[str, list[str]]:
    """Return commands that write one file, OUT, which exists before."""
    found = {
        "table --to": ["table", str(world.run), "--to", "OUT.jsonl"],
        "evaluate --to": ["evaluate", str(world.run), "--to", "OUT.jsonl"],
        "names --to": ["names", LIVE, "--export", "csv", "--to", "OUT.csv"],
    }
    for name, call in bases.every(world).items():
        written = bases.FRESH.get(name, "")
        if Path(written).suffix:
            out = f"OUT{Path(written).suffix}"
            found[name] = [out if one == written else one for one in call]
    return found


def _talkers(world: World) -> dict[str, list[str]]:
    """Return commands whose output goes to the terminal."""
    every = {name: call for name, call in bases.every(world).items() if name not in bases.WAITS}
    bench = every["bench"]
    return {
        **{name: call for name, call in every.items() if name not in _writers(world)},
        "run": ["run", *world.quick(METHOD), "--checkpoint-seconds", "0", "--no-pictures",
                "--out", "r"],
        "bench list": ["bench"],
        "bench show": [*bench, "--show"],
        "table csv": ["table", str(world.bench), "--format", "csv"],
        "methods json": ["methods", "--json"],
        "help": ["--help"],
        "run help": ["run", "--help"],
        "a mistake": ["run", "--no-such-option"],
    }  # fmt: skip


def _old(arguments: list[str], folder: Path, world: World) -> Path:
    """Put a valid file where the command will write; return it."""
    world.copy_live(arguments, folder)
    name = next(one for one in arguments if one.startswith("OUT."))
    target = folder / name
    source = world.bench / "records.jsonl"
    shutil.copyfile(source, target) if name.endswith(".jsonl") else target.write_text(OLD)
    return target


def _full_output(world: World, name: str, arguments: list[str]) -> Case:
    def run(folder: Path) -> Result:
        old = _old(arguments, folder, world)
        before, limit = old.read_bytes(), old.stat().st_size
        outcome = execute.command(arguments, folder, Around(before=lambda: _limit(limit)))
        found = judge(outcome, folder, must_refuse=True)
        if old.read_bytes() != before:
            found.append(Finding("loss", f"{name} damaged the file that was there"))
        parts = [path.name for path in folder.rglob("*.part")]
        found += [Finding("leftover", f"{name} left a .part file")] if parts else []
        return Result(found)

    return Case(PART, f"{name} on a full disk", name, run, f"{shell(arguments)}  # full disk")


def _read_only(world: World, name: str, arguments: list[str]) -> Case:
    def run(folder: Path) -> Result:
        with _mounted(folder / "disk", "8m") as disk:
            if disk is None:
                return Result(cases=0)
            _old(arguments, disk, world)
            _mount("remount,ro", disk)
            outcome = execute.command(arguments, disk)
            return Result(judge(outcome, folder, must_refuse=True))

    return Case(PART, f"{name} read-only", name, run, f"{shell(arguments)}  # read-only disk")


def _outputs() -> dict[str, Callable[[], int | None]]:
    """Return ways in which standard output cannot be written."""

    def nobody_reads() -> int:
        read, write = os.pipe()
        os.close(read)
        return write

    def head() -> int:
        process = subprocess.Popen(
            ["head", "-n", "1"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
        )
        assert process.stdin is not None
        return os.dup(process.stdin.fileno())

    return {
        ">&-": lambda: None,
        "> /dev/full": lambda: os.open("/dev/full", os.O_WRONLY),
        "| true": nobody_reads,
        "| head -1": head,
    }


def _unread(
    world: World, name: str, arguments: list[str], how: str, stdout: Callable[[], int | None]
) -> Case:
    def run(folder: Path) -> Result:
        if any(one.startswith("OUT.") for one in arguments):
            _old(arguments, folder, world)
        else:
            world.copy_live(arguments, folder)
        outcome = execute.command(arguments, folder, Around(stdout=stdout))
        found = judge(outcome, folder)
        found = [one for one in found if one.kind != "mute"]
        if name == "run":
            found += _outlives(outcome, folder)
            found += _goes_on(world, arguments, folder)
        return Result(found)

    return Case(PART, f"{name} {how}", f"{name} output", run, f"{shell(arguments)} {how}")


def _outlives(outcome: Outcome, folder: Path) -> list[Finding]:
    """Return a finding when a run without a terminal stopped without a word."""
    if (folder / "r" / "summary.json").exists():
        return []
    saved = any((folder / "r" / "checkpoints").glob("[0-9]*"))
    if saved and "--resume" in outcome.err:
        return []
    what = f"the run stopped with status {outcome.status}, saved: {saved}"
    return [Finding("loss", what, outcome.err)]


@contextlib.contextmanager
def _mounted(folder: Path, size: str) -> Iterator[Path | None]:
    """Mount a small disk at `folder`; yield None where that is not allowed."""
    folder.mkdir()
    if shutil.which("mount") is None or not _mount(f"size={size}", folder, "-t", "tmpfs"):
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=False)


def _mount(options: str, folder: Path, *kind: str) -> bool:
    command = ["mount", *kind, "-o", options, "tmpfs", str(folder)]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0
