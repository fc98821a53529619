"""Watch in child processes of which each is killed at its n-th use of a file.

They are forked, so that twenty kills take seconds. An argument of 0 lets the child
finish. Prints the exit status of each child.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from tests.live.tools import watch

USES = {"open", "os.rename", "os.remove", "os.mkdir", "os.listdir", "os.scandir"}


def die_at(use: int) -> None:
    """Kill this process when it uses a file for the n-th time from now."""
    left = [use]

    def count(event: str, args: object) -> None:
        if event in USES:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)


def main(out: str, checkpoint_seconds: str, sources: str, *uses: str) -> None:
    for use in map(int, uses):
        child = os.fork()
        if child == 0:
            if use:
                die_at(use)
            watch(Path(out), sources.split("|"), checkpoint_seconds=float(checkpoint_seconds))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
