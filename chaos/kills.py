"""Runs and benches that are killed or told to stop at random writes, then resumed and compared."""

from __future__ import annotations

import functools
import os
import random
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from chaos import execute
from chaos.execute import Around, Outcome
from chaos.hooks import Act, at_write, count_writes, kill_here
from chaos.judge import TRACEBACK, Case, Finding, Result, cause, judge, shell
from chaos.readers import digest_of
from chaos.world import World, scratch

PART = "kills"
OUT = "r"
ENDS = ("metrics.jsonl", "learner.safetensors", "summary.json")
METHODS_TRIED = 6
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
LATEST = 0.004
"""Seconds after a write within which a process is killed from outside."""
WORKER_SECONDS = 120.0
How = Callable[[World, random.Random, list[str], int], Case]


@dataclass(frozen=True)
class Reference:
    """An undisturbed run or bench: its writes in order, and its end."""

    arguments: tuple[str, ...]
    writes: tuple[str, ...]
    digest: str
    ends: tuple[str, ...]

    def between(self) -> tuple[int, int]:
        """Return the first and the last write of checkpoints."""
        inside = [i for i, one in enumerate(self.writes, 1) if "/checkpoints" in one]
        return (inside[0], inside[-1]) if inside else (1, len(self.writes))


def cases(world: World, rng: random.Random) -> Iterator[Case]:
    """Yield cases without end: most kill a run at a write, some signal, some kill benches."""
    from scale.methods import METHODS

    methods = ["er"] if world.short else rng.sample(sorted(METHODS), METHODS_TRIED)
    hows: list[How] = [*[_at_write] * 5, *[_signalled] * 2, _bench]
    if not world.short:  # which repeats: it does not kill after a time
        hows += [_soon_after] * 3
    number = 0
    while True:
        number += 1
        how = _real if number % 40 == 25 else _pool if number % 80 == 45 else rng.choice(hows)
        yield how(world, rng, methods, number)


def _at_write(world: World, rng: random.Random, methods: list[str], number: int) -> Case:
    method, times, share = rng.choice(methods), rng.choice((1, 1, 2)), [rng.random() for _ in "ab"]

    def disturb(reference: Reference, folder: Path) -> list[int]:
        return [
            _stop_once(reference, folder, _place(reference, one), kill_here)
            for one in share[:times]
        ]

    return _run_case(world, method, f"{number} {method} killed at a write", disturb)


def _soon_after(world: World, rng: random.Random, methods: list[str], number: int) -> Case:
    method, share, wait = rng.choice(methods), rng.random(), rng.uniform(0, LATEST)

    def disturb(reference: Reference, folder: Path) -> list[int]:
        at = _place(reference, share)
        read, write = os.pipe()

        def kill_later(child: int) -> None:
            os.close(write)
            if select.select([read], [], [], execute.SECONDS)[0] and os.read(read, 1):
                time.sleep(wait)
                os.kill(child, signal.SIGKILL)
            os.close(read)

        around = Around(
            before=lambda: at_write(at, lambda *_: os.write(write, b"x"), folder / OUT),
            during=kill_later,
        )
        execute.command(reference.arguments, folder, around)
        return [at]

    return _run_case(world, method, f"{number} {method} killed soon after a write", disturb)


def _signalled(world: World, rng: random.Random, methods: list[str], number: int) -> Case:
    method, share, sent = rng.choice(methods), rng.random(), rng.choice(SIGNALS)
    found: list[Finding] = []

    def disturb(reference: Reference, folder: Path) -> list[int]:
        at = _place(reference, share)
        around = Around(
            before=lambda: at_write(at, lambda *_: os.kill(os.getpid(), sent), folder / OUT)
        )
        outcome = execute.command(reference.arguments, folder, around)
        first, last = reference.between()
        found.extend(_judge_signal(outcome, sent, first <= at <= last, folder))
        return [at]

    what = f"{number} {method} {sent.name}"
    return _run_case(world, method, what, disturb, found)


def _judge_signal(
    outcome: Outcome, sent: signal.Signals, in_stream: bool, folder: Path
) -> list[Finding]:
    if outcome.signal is None:
        return judge(outcome, folder)
    if in_stream:
        return [Finding("loss", f"{sent.name} ended a run without saving and without a word")]
    return []


def _real(world: World, rng: random.Random, methods: list[str], number: int) -> Case:
    """Kill a process of its own, as a user's shell starts it."""
    method, share = rng.choice(methods), rng.random()

    def disturb(reference: Reference, folder: Path) -> list[int]:
        at = _place(reference, share)
        code = (
            "import sys, pathlib; from chaos.hooks import at_write, kill_here; "
            f"at_write({at}, kill_here, pathlib.Path({str(folder / OUT)!r})); "
            "from scale.cli import main; sys.exit(main(sys.argv[1:]))"
        )
        here = Path(__file__).parent.parent
        path = os.pathsep.join([str(here), *sys.path])
        subprocess.run(
            [sys.executable, "-c", code, *reference.arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            check=False,
        )
        return [at]

    return _run_case(world, method, f"{number} {method} a process of its own killed", disturb)


def _run_case(
    world: World,
    method: str,
    name: str,
    disturb: Callable[[Reference, Path], list[int]],
    found: list[Finding] | None = None,
) -> Case:
    def run(folder: Path) -> Result:
        reference = reference_of(world, method)
        stopped = disturb(reference, folder)
        first, last = reference.between()
        inside = sum(first <= at <= last for at in stopped)
        more = finish(reference, [*reference.arguments, "--resume"], folder)
        return Result([*(found or []), *more], 1, len(stopped), inside)

    arguments = _arguments(world, method)
    return Case(PART, name, method, run, f"{shell(arguments)}  # {name}")


def _bench(world: World, rng: random.Random, methods: list[str], number: int) -> Case:
    share = rng.random()

    def run(folder: Path) -> Result:
        reference = _bench_reference(world)
        at = 1 + int(share * len(reference.writes))
        _stop_once(reference, folder, at, kill_here)
        first, last = reference.between()
        return Result(
            finish(reference, list(reference.arguments), folder), 1, 1, int(first <= at <= last)
        )

    name = f"{number} bench killed at a write"
    return Case(PART, name, "bench", run, f"scale bench two.toml  # {name}")


def _pool(world: World, rng: random.Random, methods: list[str], number: int) -> Case:
    """Kill a bench whose runs are processes of their own: they must end by themselves."""
    wait = rng.uniform(2, 20)

    def run(folder: Path) -> Result:
        reference = _bench_reference(world)
        pool = [*reference.arguments, "--engine", "pool", "--workers", "2"]

        def kill_later(child: int) -> None:
            handle = os.pidfd_open(child)
            if not select.select([handle], [], [], wait)[0]:
                os.kill(child, signal.SIGKILL)
            os.close(handle)

        execute.command(pool, folder, Around(during=kill_later))
        found = _wait_for_workers(folder / OUT)
        return Result([*found, *finish(reference, list(reference.arguments), folder)], 1, 1)

    name = f"{number} bench with a pool killed"
    return Case(PART, name, "bench", run, f"scale bench two.toml --engine pool  # {name}")


def _wait_for_workers(out: Path) -> list[Finding]:
    """Wait until the runs that a killed bench left have ended."""
    from scale.bench.folder import is_free

    computed = 0.0
    limit = time.monotonic() + WORKER_SECONDS
    while not all(is_free(run) for run in (out / "runs").glob("*")):
        if time.monotonic() > limit:
            now = execute.computed(out.parent)
            if now - computed < execute.IDLE or now > execute.CPU_SECONDS:
                return [Finding("hang", "a run goes on after its bench was killed")]
            computed, limit = now, time.monotonic() + WORKER_SECONDS
        time.sleep(0.05)
    return []


def _stop_once(reference: Reference, folder: Path, at: int, act: Act) -> int:
    execute.command(
        reference.arguments if not (folder / OUT).exists() or "bench" in reference.arguments
        else [*reference.arguments, "--resume"],
        folder,
        Around(before=lambda: at_write(at, act, folder / OUT)),
    )  # fmt: skip
    return at


def finish(reference: Reference, arguments: list[str], folder: Path) -> list[Finding]:
    """Resume to the end, and compare with the undisturbed one."""
    outcome = execute.command(arguments, folder)
    text = f"{outcome.err}\n{outcome.out}"
    if TRACEBACK in text:
        return [Finding("traceback", f"when resumed: {cause(text)}", text[-3000:])]
    if outcome.status != 0:
        return [Finding("loss", "it cannot be resumed", text[-3000:])]
    found = []
    if digest_of(folder / OUT, reference.ends) != reference.digest:
        found.append(Finding("different", "another end than undisturbed", text[-3000:]))
    parts = [str(path.relative_to(folder)) for path in (folder / OUT).rglob("*.part")]
    if parts:
        where = ", ".join(sorted({_kind(part) for part in parts}))
        found.append(Finding("leftover", f"left behind: {where}", ", ".join(parts)))
    return found


def _kind(part: str) -> str:
    """Return a temporary file's name without what changes from run to run."""
    names = part.split("/")
    return (
        "/".join(["…" if "-seed" in name else name for name in names[:-1]])
        + "/"
        + (names[-1].rsplit(".", 2)[0] + ".part")
    )


def _place(reference: Reference, share: float) -> int:
    """Return the write to stop at: two of three are inside or between checkpoint writes."""
    first, last = reference.between()
    if share < 2 / 3:
        return first + int(share * 1.5 * (last - first))
    return 1 + int((share - 2 / 3) * 3 * (len(reference.writes) - 1))


def _arguments(world: World, method: str) -> list[str]:
    return ["run", *world.quick(method), "--checkpoint-seconds", "0", "--no-pictures", "--out", OUT]


@functools.cache
def reference_of(world: World, method: str) -> Reference:
    """Return the undisturbed run of a method."""
    return _undisturbed(world, tuple(_arguments(world, method)), ENDS)


@functools.cache
def _bench_reference(world: World) -> Reference:
    arguments = ("bench", str(world.experiment), "--out", OUT, "--engine", "in-process",
                 "--checkpoint-seconds", "0")  # fmt: skip
    return _undisturbed(world, arguments, ("records.jsonl", "runs/*/metrics.jsonl"))


def _undisturbed(world: World, arguments: tuple[str, ...], ends: tuple[str, ...]) -> Reference:
    with scratch(world.cases) as folder:
        log = folder / "writes.txt"
        around = Around(before=lambda: count_writes(folder / OUT, log))
        outcome = execute.command(arguments, folder, around)
        if outcome.status != 0:
            raise RuntimeError(f"{shell(arguments)} fails: {outcome.err}{outcome.out}")
        writes = tuple(log.read_text(errors="replace").splitlines())
        return Reference(arguments, writes, digest_of(folder / OUT, ends), ends)
