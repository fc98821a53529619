"""How much of the machine a live learner may use."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import time
from collections.abc import Callable

import torch

from scale._errors import InputError
from scale._machine import cores, in_words

LONGEST_NAP = 0.2  # seconds between two looks at a stop
CREDIT = 2.0  # seconds of unused CPU time that may be made up for


def threads_for(cpu: float) -> int:
    """Return the number of torch's threads for a share of the cores, at least 1."""
    return max(min(torch.get_num_threads(), int(cpu * cores() + 1e-9)), 1)


def choose_threads(
    cpu: float, before: tuple[float, int] | None, tell: Callable[[str], None]
) -> int:
    """Return the number of torch's threads: that of the first start, for the same bits.

    Parameters
    ----------
    cpu
        Share of the cores.
    before
        Share and threads of the last start; None for the first.
    tell
        Called with a message if another share needs another number.
    """
    if before is None:
        return threads_for(cpu)
    threads = before[1] if before[0] == cpu else threads_for(cpu)
    if threads != before[1]:
        tell(
            f"the learner began with {before[1]} threads and goes on with {threads}: its numbers "
            "may differ in the last digits"
        )
    return threads


class Pace:
    """Keeps the CPU time of this process below a share of the cores, by naps between batches.

    Parameters
    ----------
    cpu
        The share, at most 1.
    """

    def __init__(self, cpu: float) -> None:
        self.allowed = cpu * cores()
        self.unlimited = cpu >= 1
        self._wall, self._cpu = time.monotonic(), time.process_time()
        self._debt = 0.0

    def keep(self, stopping: Callable[[], bool]) -> None:
        """Nap until the CPU time since the last call is within the budget."""
        wall, cpu = time.monotonic(), time.process_time()
        used, passed = (cpu - self._cpu) / self.allowed, wall - self._wall
        self._wall, self._cpu = wall, cpu
        self._debt = max(self._debt + used - passed, -CREDIT)
        if self.unlimited:
            return
        end = wall + self._debt
        while not stopping() and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, LONGEST_NAP))


class MemoryBudget:
    """Stops the learner when it needs more memory than it may.

    Parameters
    ----------
    gigabytes
        The budget; None is none.
    """

    def __init__(self, gigabytes: float | None) -> None:
        self.most = None if gigabytes is None else gigabytes * 1e9

    def check(self) -> None:
        """Raise `InputError` if the process is over the budget and cannot give memory back."""
        if self.most is None or resident_bytes() <= self.most:
            return
        gc.collect()
        with contextlib.suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)
        size = resident_bytes()
        if size > self.most:
            raise InputError(
                f"the learner needs {in_words(size)} of memory, more than --memory allows "
                f"({in_words(self.most)}); allow more, or start another with a smaller encoder, "
                "--batch-size, --image-size, --memory-size or --memory-batch"
            )


def resident_bytes() -> int:
    """Return the memory of this process; its peak where the system does not tell more."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
