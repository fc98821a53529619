"""Time and memory of a run, over all processes that worked on it."""

from __future__ import annotations

import resource
import time
from collections.abc import Mapping


class Meter:
    """Measures wall time, CPU time of all threads, and peak memory since its creation.

    On a shared machine, compare CPU times.

    Parameters
    ----------
    before
        Result of `spent` in the stopped process. Keys missing from `before` are omitted.

    Examples
    --------
    >>> meter = Meter({"wall_seconds": 60.0, "cpu_seconds": 50.0, "peak_memory_mb": 1.0})
    >>> spent = meter.spent()
    >>> spent["wall_seconds"] >= 60 and spent["cpu_seconds"] >= 50 and spent["peak_memory_mb"] > 1
    True
    >>> sorted(Meter({"wall_seconds": 60.0}).spent())
    ['wall_seconds']
    """

    def __init__(self, before: Mapping[str, float] | None = None) -> None:
        nothing = {"wall_seconds": 0.0, "cpu_seconds": 0.0, "peak_memory_mb": 0.0}
        self._before = nothing if before is None else dict(before)
        self._wall, self._cpu = time.monotonic(), time.process_time()

    def spent(self) -> dict[str, float]:
        """Return the seconds so far, and the peak memory of the largest process."""
        now = {
            "wall_seconds": time.monotonic() - self._wall,
            "cpu_seconds": time.process_time() - self._cpu,
        }
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        sums = {name: self._before[name] + now[name] for name in now if name in self._before}
        if "peak_memory_mb" in self._before:
            sums["peak_memory_mb"] = max(self._before["peak_memory_mb"], peak)
        return sums
