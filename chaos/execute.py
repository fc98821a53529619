"""Run functions and commands in forked copies of a process that has imported everything.

A fork is sound here because the parent has one thread: torch, OpenMP and BLAS are held to one
thread before they are imported, and the parent computes nothing.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.fence import keep_inside

SECONDS = 90.0
"""Wall time without computing after which a command counts as hanging."""
IDLE = 0.5
"""Seconds of computing within `SECONDS` below which a command only waits."""
STOP_SECONDS = 15.0
"""Wall time after which a command that waits for its user is stopped as by Ctrl-C."""
CPU_SECONDS = 25
"""Time of computing after which a command counts as hanging: it does not depend on other load."""
MEMORY = 4 * 2**30
"""Bytes that a command may take."""


FENCE: dict[str, Path] = {}
"""``base``: the folder that children may write to. ``log``: where other attempts are written."""


@dataclass(frozen=True)
class Outcome:
    """How a process ended."""

    status: int | None
    """The exit status; None when a signal ended it."""
    signal: int | None
    out: str
    err: str
    seconds: float
    hung: bool = False


@dataclass
class Around:
    """What surrounds a command: applied in the child before it starts."""

    stdout: Callable[[], int | None] | None = None
    """Returns the descriptor for standard output; None closes it."""
    before: Callable[[], None] | None = None
    """Called in the child, for example to set limits or hooks."""
    during: Callable[[int], None] | None = None
    """Called in the parent with the child's process id, for example to kill it."""
    seconds: float = SECONDS
    cpu_seconds: int = CPU_SECONDS


def command(arguments: Sequence[str], folder: Path, around: Around | None = None) -> Outcome:
    """Run ``scale ARGUMENTS`` in `folder`."""

    def main() -> int:
        from scale import cli

        return cli.main(list(arguments))

    return call(main, folder, around)


def call(function: Callable[[], Any], folder: Path, around: Around | None = None) -> Outcome:
    """Call `function` in a child with its output in files; its value is the exit status."""
    around = around or Around()
    logs = folder.parent / f".{folder.name}.stdout", folder.parent / f".{folder.name}.stderr"
    sys.stdout.flush()
    sys.stderr.flush()
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        _be_child(function, folder, logs, around)
    if around.during is not None:
        around.during(child)
    hung = not _wait(child, around.seconds, folder)
    _, code = os.waitpid(child, 0)
    ended_by = os.WTERMSIG(code) if os.WIFSIGNALED(code) else None
    out, err = (_read(path) for path in logs)
    return Outcome(
        status=os.WEXITSTATUS(code) if os.WIFEXITED(code) else None,
        signal=ended_by,
        out=out,
        err=err,
        seconds=time.monotonic() - begin,
        hung=hung or ended_by == signal.SIGXCPU,
    )


def stopping(words: Sequence[str], waits: Sequence[str]) -> Around:
    """Return what surrounds a command: those that wait for Ctrl-C get it after a while."""

    def interrupt(child: int) -> None:
        handle = os.pidfd_open(child)
        if not select.select([handle], [], [], STOP_SECONDS)[0]:
            os.kill(child, signal.SIGINT)
        os.close(handle)

    return Around(during=interrupt) if set(words) & set(waits) else Around()


def warm(commands: Sequence[Sequence[str]], folder: Path) -> None:
    """Run `commands` in one child, and import here what they imported."""
    names = folder / ".modules"

    def run_all() -> int:
        from scale import cli

        for arguments in commands:
            if cli.main(list(arguments)) != 0 and arguments[0] != "data":
                raise RuntimeError(f"scale {' '.join(arguments)} failed")
        names.write_text("\n".join(sys.modules))
        return 0

    outcome = call(run_all, folder, Around(seconds=600, cpu_seconds=600))
    if outcome.status != 0:
        raise RuntimeError(f"the templates cannot be made:\n{outcome.err}\n{outcome.out}")
    for name in names.read_text().splitlines():
        if name not in sys.modules and not name.startswith("__"):
            with contextlib.suppress(Exception):
                importlib.import_module(name)


def _be_child(
    function: Callable[[], Any], folder: Path, logs: tuple[Path, Path], around: Around
) -> None:
    """Become a process of its own, call the function, and exit as Python exits."""
    status = 1
    try:
        os.setsid()
        _as_from_a_shell()
        _redirect(logs, around)
        os.chdir(folder)
        if FENCE:
            keep_inside(**FENCE)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_CPU, (around.cpu_seconds, around.cpu_seconds + 5))
        limit = _address_space() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        if around.before is not None:
            around.before()
        status = _status(function)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(_flush(status))


def _as_from_a_shell() -> None:
    """Take the usual signal handlers, whatever the campaign was started with."""
    for one in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _status(function: Callable[[], Any]) -> int:
    try:
        value = function()
    except SystemExit as leave:
        value = leave.code
        if isinstance(value, str):
            sys.stderr.write(f"{value}\n")
            value = 1
    return int(value or 0)


def _flush(status: int) -> int:
    """Flush as Python does when it ends: an error there is told, and gives the status 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except BaseException as error:
            with contextlib.suppress(BaseException):
                sys.stderr.write(f"Exception ignored in: {stream!r}\n{error!r}\n")
                sys.stderr.flush()
            return 120
    return status


def _redirect(logs: tuple[Path, Path], around: Around) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(logs[1], flags, 0o644), 2)
    if around.stdout is None:
        os.dup2(os.open(logs[0], flags, 0o644), 1)
        return
    given = around.stdout()
    if given is None:  # as Python starts when the descriptor is closed
        os.close(1)
        sys.stdout = None
    else:
        os.dup2(given, 1)


def _address_space() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def computed(folder: Path) -> float:
    """Return the seconds that all processes which run in `folder` have computed."""
    ticks = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            if os.readlink(process / "cwd").startswith(str(folder)):
                fields = (process / "stat").read_text().rpartition(")")[2].split()
                ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _wait(child: int, seconds: float, folder: Path) -> bool:
    """Wait for a child; kill it and all that it started when it only waits for so long.

    On a busy machine a child may get little time. One that computes is ended by its own limit.
    """
    handle, before = os.pidfd_open(child), 0.0
    try:
        while not select.select([handle], [], [], seconds)[0]:
            now = computed(folder)
            if now - before < min(IDLE, seconds):
                break
            before = now
        else:
            return True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        select.select([handle], [], [])
        return False
    finally:
        os.close(handle)


def _read(path: Path) -> str:
    if not path.exists():
        return ""
    with open(path, "rb") as file:
        return file.read(200_000).decode("utf-8", "replace")
