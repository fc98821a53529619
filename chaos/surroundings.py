"""Odd surroundings: variables, terminals, folders and streams that a user's machine may have."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path

from chaos import bases, execute
from chaos.execute import Around, Outcome
from chaos.judge import Case, Result, judge, shell
from chaos.world import World

PART = "surroundings"
VARIABLES = {
    "MPLBACKEND": "no-such-backend",
    "OMP_NUM_THREADS": "many",
    "PYTHONWARNINGS": "error",
    "SCALE_DATA": "/dev/null/x",
}
"""Variables that are read at the start of a process, with values that do not fit."""
OTHERS = 3
"""Commands beside a run that are tried in each surrounding."""


def subjects(world: World) -> list[str]:
    """Return the commands that a whole campaign tries."""
    return [name for name in bases.every(world) if name not in bases.WAITS]


def cases(world: World, rng: random.Random) -> Iterator[Case]:
    """Yield a run, and other commands, in each surrounding."""
    quick = ["run", *world.quick("er"), "--out", "r"]
    every = bases.every(world)
    commands = {name: every[name] for name in subjects(world)}
    others = [name for name in commands if name != "run"]
    rng.shuffle(others)
    turns = cycle(others)
    for where, change in _changes().items():
        for name in ("run", *islice(turns, OTHERS)):
            yield _forked(world, name, commands[name], where, change)
    for variable, value in VARIABLES.items():
        for name in ("run", "plot"):
            arguments = quick if name == "run" else commands[name]
            yield _started(name, arguments, variable, value)


def _changes() -> dict[str, Callable[[Path], None]]:
    def variable(name: str, value: str | None) -> Callable[[Path], None]:
        def change(folder: Path) -> None:
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value

        return change

    def gone(folder: Path) -> None:
        inner = folder / "gone"
        inner.mkdir()
        os.chdir(inner)
        inner.rmdir()

    def nothing_to_say(folder: Path) -> None:
        sys.stderr = None

    return {
        "10 columns": variable("COLUMNS", "10"),
        "COLUMNS=x": variable("COLUMNS", "x"),
        "no HOME": variable("HOME", None),
        "HOME=/dev/null": variable("HOME", "/dev/null"),
        "TMPDIR that is not there": variable("TMPDIR", "/no/such/folder"),
        "a cache that cannot be": variable("SCALE_CACHE", "/dev/null/cache"),
        "TERM=nonsense": variable("TERM", "nonsense"),
        "NO_COLOR": variable("NO_COLOR", "1"),
        "FORCE_COLOR": variable("FORCE_COLOR", "1"),
        "ASCII": lambda _: sys.stdout.reconfigure(encoding="ascii"),  # type: ignore[union-attr]
        "warnings are errors": lambda _: warnings.simplefilter("error"),
        "a folder that is gone": gone,
        "no standard error": nothing_to_say,
    }


def _forked(
    world: World, name: str, arguments: list[str], where: str, change: Callable[[Path], None]
) -> Case:
    def run(folder: Path) -> Result:
        world.copy_live(arguments, folder)
        outcome = execute.command(arguments, folder, Around(before=lambda: change(folder)))
        return Result(_judged(outcome, folder, where))

    return Case(PART, f"{name}: {where}", name, run, f"{shell(arguments)}  # {where}")


def _started(name: str, arguments: list[str], variable: str, value: str) -> Case:
    def run(folder: Path) -> Result:
        path = os.pathsep.join(one for one in sys.path if one)
        begun = subprocess.run(
            [sys.executable, "-m", "scale", *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path, variable: value},
            capture_output=True,
            check=False,
        )
        out, err = (text.decode("utf-8", "replace") for text in (begun.stdout, begun.stderr))
        return Result(_judged(Outcome(begun.returncode, None, out, err, 0.0), folder, variable))

    command = f"{variable}={value} {shell(arguments)}"
    return Case(PART, f"{name}: {variable}={value}", name, run, command)


def _judged(outcome: Outcome, folder: Path, where: str) -> list:  # type: ignore[type-arg]
    found = judge(outcome, folder)
    quiet = where in ("no standard error", "FORCE_COLOR")
    return [one for one in found if not (quiet and one.kind in ("mute", "control"))]
