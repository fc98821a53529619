"""Time functions side by side, and build the rows of a benchmark."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path

import torch

Row = dict[str, object]


def best_of(
    runs: Mapping[str, Callable[[], object]], repeats: int, warm_up: bool = True
) -> dict[str, float]:
    """Return the shortest time of each run, in seconds, after a warm-up.

    The runs take turns, so that other load on the machine affects all of them.
    """
    if warm_up:
        for run in runs.values():
            run()
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(repeats):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def row(
    what: str,
    ours: float,
    alternative: tuple[str, float] | None = None,
    limit: tuple[str, float] | None = None,
    *,
    unit: str = "ms",
    note: str = "",
) -> Row:
    """Return one row of a table; every value is a cost in `unit`, so less is better.

    Parameters
    ----------
    what
        The task.
    ours
        Cost of our code.
    alternative
        Name and cost of another way to do the task; the ratio is alternative / ours.
    limit
        Name and cost of a lower bound on this machine; the ratio is ours / limit.
    unit
        Unit of all costs.
    note
        Remark shown beside the numbers.
    """
    cells: Row = {"what": what, "unit": unit, "ours": ours}
    if alternative is not None:
        cells |= {"alternative": alternative[0], "alternative_cost": alternative[1]}
        cells["alternative_over_ours"] = alternative[1] / ours
    if limit is not None:
        cells |= {"limit": limit[0], "limit_cost": limit[1], "ours_over_limit": ours / limit[1]}
    return cells | ({"note": note} if note else {})


def machine() -> Row:
    """Return the processor, its load, and the versions of Python and the libraries."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("scale-lifelong", "torch", "numpy")},
    }


def multiply_adds_per_second(side: int = 1024) -> float:
    """Return the rate of a float32 product of square matrices: the machine's arithmetic peak."""
    a, b = torch.ones(side, side), torch.ones(side, side)
    return side**3 / best_of({"product": lambda: a @ b}, 8)["product"]


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
