"""Run one job in a process: ``python -m scale.bench.worker``, with the job on its stdin.

The first line is the job. The bench holds the pipe open. When the pipe closes, the run saves and
stops, so a killed bench leaves no process behind.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path


def main() -> int:
    """Run the job and return an exit status of `EXIT`."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a bench in the background ignores it
    from scale.bench.work import EXIT, HowToRun, work
    from scale.runs import RunConfig

    request = json.loads(sys.stdin.readline())
    threading.Thread(target=_stop_when_alone, daemon=True).start()
    try:
        config, how = RunConfig(**request["config"]), HowToRun(**request["how"])
        status, _ = work(config, Path(request["folder"]), how, request["code"])
    except KeyboardInterrupt:
        return EXIT["interrupted"]
    return EXIT[status]


def _stop_when_alone() -> None:
    os.read(sys.stdin.fileno(), 1)  # sys.stdin.read holds a lock that the exit waits for
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main())
