"""from the command line to the first character of help."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks._measure import Row, median_of, row


def main(quick: bool = False) -> list[Row]:
    """Time the command beside importing torch and beside an empty program."""
    command = Path(sys.executable).with_name("scale")
    runs = {
        "ours": lambda: run(str(command), "--help"),
        "torch": lambda: run(sys.executable, "-c", "import torch"),
        "python": lambda: run(sys.executable, "-c", "pass"),
    }
    best = median_of(runs, 1 if quick else 2)
    return [
        row(
            "scale --help",
            best["ours"] * 1e3,
            ("python -c 'import torch'", best["torch"] * 1e3),
            ("python -c pass", best["python"] * 1e3),
        )
    ]


def run(*command: str) -> None:
    """Run a command to its end."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
