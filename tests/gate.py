"""Runs that wait at a gate, so that what a test does to them meets them while they learn."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

HELD = """
import os

import scale
from scale.methods import ER, SimCLR


class Waits:
    def learn(self, batch, labels):
        super().learn(batch, labels)
        gate = os.environ.pop("GATE_" + type(self).__name__, None) if self.step_ == 4 else None
        if gate is not None:
            open(gate, "rb").close()  # until somebody can write


class HeldPlus(Waits, scale.ScalePlus):
    pass


class HeldER(Waits, ER):
    pass


class HeldSimCLR(Waits, SimCLR):
    pass
"""


METHODS = re.findall(r"class (Held\w+)", HELD)


class Gate:
    """What the methods of `HELD` wait for in their fifth batch, once a process.

    Only processes with the environment of the gate wait.
    """

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self._path = path

    def environment(self, *methods: str) -> dict[str, str]:
        """Return what a process needs so that these methods wait."""
        return {f"GATE_{method}": str(self._path) for method in methods or METHODS}

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Let the runs go on."""
        file = os.open(self._path, os.O_RDWR)
        try:
            yield
        finally:
            os.close(file)
