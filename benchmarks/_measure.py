"""Time functions side by side, and build the rows of a benchmark."""

from __future__ import annotations

import os
import platform
import resource
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from statistics import median

import torch

from scale._machine import cores
from scale.methods.core.precision import chosen

Row = dict[str, object]


def processor_time() -> float:
    """Return the seconds that processors spent on this process and its finished children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def median_of(
    runs: Mapping[str, Callable[[], object]],
    repeats: int,
    warm_up: bool = True,
    clock: Callable[[], float] = processor_time,
) -> dict[str, float]:
    """Return the median time of each run, in seconds, after a warm-up.

    The runs take turns, and the default clock counts no time in which a processor does the work of
    others. So other load on the machine matters little.
    """
    if warm_up:
        for run in runs.values():
            run()
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            start = clock()
            run()
            taken[name].append(max(clock() - start, 1e-6))
    return {name: median(seconds) for name, seconds in taken.items()}


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
        "cores": cores(),
        "threads": torch.get_num_threads(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "precision": chosen("auto", "cpu"),
        "vectors": torch.backends.cpu.get_cpu_capability(),
        "versions": {name: version(name) for name in ("scale-lifelong", "torch", "numpy")},
    }


def multiply_adds_per_second(precision: str = "fp32", side: int = 1024) -> float:
    """Return the rate of a product of square matrices: the machine's arithmetic peak."""
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    a, b = torch.ones(side, side, dtype=dtype), torch.ones(side, side, dtype=dtype)
    return side**3 / median_of({"product": lambda: a @ b}, 8)["product"]


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
