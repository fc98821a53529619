"""Real `scale` processes that start at once, forked from a server that has imported everything.

A test of signals, pipes or terminals needs a process, but not the seconds in which a new
interpreter imports torch, its optimisers and scikit-learn.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, NamedTuple, NoReturn

ROOT = Path(__file__).parents[1]
PRELOADED = (
    "scale.commands.run",
    "scale.commands.watch",
    "scale.commands.bench",
    "scale.live",
    "torch._dynamo",
)
STATUS = struct.Struct("i")
_stops: list[Callable[[], object]] = []


class Started:
    """A process that the server has started, used like a `subprocess.Popen`.

    Parameters
    ----------
    pid
        Its number.
    ended
        A file that gets its status when it ends.
    stdout, stderr
        What it writes.
    """

    def __init__(self, pid: int, ended: int, stdout: IO[Any] | None, stderr: IO[Any] | None):
        self.pid = pid
        self.stdout = stdout
        self.stderr = stderr
        self.returncode: int | None = None
        self._ended = ended

    def poll(self) -> int | None:
        """Return the exit status, or None while it runs."""
        if self.returncode is None and select.select([self._ended], [], [], 0)[0]:
            return self.wait()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status when it has ended; minus the signal if a signal ended it."""
        if self.returncode is None:
            if not select.select([self._ended], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("scale", timeout or 0)
            (status,) = STATUS.unpack(os.read(self._ended, STATUS.size))
            os.close(self._ended)
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def communicate(self) -> tuple[str, str]:
        """Return what it wrote until its end."""
        with ThreadPoolExecutor(2) as pool:
            output, error = pool.map(_read, (self.stdout, self.stderr))
        self.wait()
        return output, error

    def send_signal(self, number: int) -> None:
        """Send a signal unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


def _read(file: IO[Any] | None) -> str:
    if file is None:
        return ""
    with file:
        return str(file.read())


def start(
    arguments: Sequence[str],
    *,
    terminal: int | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> Started:
    """Start `scale` in a session of its own, on pipes or on a terminal."""
    given = {
        "arguments": list(arguments),
        "cwd": str(cwd or Path.cwd()),
        "env": dict(os.environ if env is None else env),
    }
    ended, status = os.pipe()
    if terminal is not None:
        return Started(_ask(given, [terminal, terminal, terminal, status]), ended, None, None)
    (out, write_out), (err, write_err) = os.pipe(), os.pipe()
    stdin = os.open(os.devnull, os.O_RDONLY)
    pid = _ask(given, [stdin, write_out, write_err, status])
    for file in (stdin, write_out, write_err):
        os.close(file)
    return Started(pid, ended, open(out, encoding="utf-8"), open(err, encoding="utf-8"))


def run_code(code: str, *arguments: str) -> tuple[str, str]:
    """Run Python code in a process of its own; return its output and its errors."""
    return start(["-c", code, *arguments]).communicate()


def _ask(given: dict[str, object], files: list[int]) -> int:
    """Let the server start a process with these files; close the last, which is the server's."""
    server = _server()
    socket.send_fds(server, [json.dumps(given).encode()], files)
    os.close(files[-1])
    return int(server.recv(100))


@functools.cache
def _server() -> socket.socket:
    """Start the server; it ends with this process, or when it is stopped before."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.processes", str(far.fileno())],
        pass_fds=[far.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        cwd=ROOT,
        start_new_session=True,
    )
    far.close()
    _stops.append(lambda: (near.close(), server.wait()))
    return near


def stop_server() -> None:
    """End the server, if there is one, and wait for its end."""
    for stop in _stops:
        stop()


class _Request(NamedTuple):
    """What a new process is to be."""

    arguments: list[str]
    cwd: str
    env: dict[str, str]
    files: list[int]


def _serve(asked: socket.socket) -> _Request:
    """Fork for every request; return only in the new processes."""
    running: dict[int, int] = {}
    woken, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    while True:
        ready = select.select([asked, woken], [], [])[0]
        if woken in ready:
            os.read(woken, 1 << 16)
            for pid in list(running):
                _tell_the_end(pid, running)
        if asked not in ready:
            continue
        message, files, _, _ = socket.recv_fds(asked, 1 << 20, 4)
        if not message:
            sys.exit()
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            for file in (asked.detach(), woken, wake, *running.values(), files.pop()):
                os.close(file)
            return _Request(**json.loads(message), files=files)
        running[pid] = files.pop()
        for file in files:
            os.close(file)
        asked.send(str(pid).encode())


def _tell_the_end(pid: int, running: dict[int, int]) -> None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    if ended:
        os.write(running[pid], STATUS.pack(status))
        os.close(running.pop(pid))


def _become(request: _Request) -> None:
    """Give this process what an interpreter that starts anew has."""
    os.setsid()
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(request.cwd)
    os.environ.clear()
    os.environ.update(request.env)
    for number, file in enumerate(request.files):
        os.dup2(file, number)
        os.close(file)
    sys.argv = ["scale", *request.arguments]
    sys.path[0] = ""
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, buffering=1, encoding="utf-8", closefd=False)
        for number, mode in enumerate("rww")
    )


def main() -> int:
    """Serve; in a new process, be `scale`, or ``python -c``."""
    for name in PRELOADED:
        importlib.import_module(name)
    _read_the_code()
    gc.freeze()  # else each new process copies what its collector looks at
    _become(_serve(socket.socket(fileno=int(sys.argv[1]))))
    if sys.argv[1:2] == ["-c"]:
        _, _, code, *arguments = sys.argv
        sys.argv = ["-c", *arguments]
        exec(code, {"__name__": "__main__"})
        return 0
    from scale.cli import main as scale

    return scale()


def _read_the_code() -> None:
    """Parse the package once, for the digest that every run records."""
    from scale.runs import RunConfig
    from scale.runs.code import code_of

    code_of(RunConfig())


def _exit(status: int) -> NoReturn:
    """End as an interpreter does, without the seconds in which it frees what was imported."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    _exit(main())
