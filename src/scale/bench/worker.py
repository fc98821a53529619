"""One job in a process of its own: ``python -m scale.bench.worker``, told on its stdin.

The first line is the job. The pipe then stays open for as long as the bench lives; when it closes,
the run saves and stops, so that a killed bench leaves nothing running behind it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

from scale.bench.work import EXIT, HowToRun, work
from scale.runs import RunConfig


def main() -> int:
    """Run the job and return the exit status that tells the bench how it ended."""
    told = json.loads(sys.stdin.readline())
    threading.Thread(target=_stop_when_alone, daemon=True).start()
    try:
        status, _ = work(RunConfig(**told["config"]), Path(told["folder"]), HowToRun(**told["how"]))
    except KeyboardInterrupt:
        return EXIT["interrupted"]
    return EXIT[status]


def _stop_when_alone() -> None:
    os.read(sys.stdin.fileno(), 1)  # not sys.stdin.read, whose lock the exit would wait for
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main())
