"""One job from start to end, in whatever process an engine puts it."""

from __future__ import annotations

import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from scale._errors import ScaleError
from scale.bench.folder import JobBusyError, claim, tidy
from scale.runs import PlainDisplay, RunConfig, RunInterrupted, run

Status = Literal["done", "failed", "busy", "interrupted"]
EXIT: dict[Status, int] = {"done": 0, "failed": 1, "busy": 75, "interrupted": 130}
"""How a process of its own tells the bench."""


@dataclass(frozen=True)
class HowToRun:
    """What engines tell every run, beside its config."""

    checkpoint_seconds: float = 60.0
    """Least time between two checkpoints."""
    keep_learner: bool = False
    """Keep what was learned, not only what was measured."""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able form."""
        return asdict(self)


def work(config: RunConfig, folder: Path, how: HowToRun) -> tuple[Status, str]:
    """Run a job, or go on with it where it was stopped; return how it ended and a reason.

    What it has to say goes to ``log.txt`` in its folder.
    """
    try:
        with claim(folder), open(folder / "log.txt", "a") as log:
            return _run(config, folder, how, Console(file=log, width=120))
    except JobBusyError:
        return "busy", "another process is at it"


def _run(config: RunConfig, folder: Path, how: HowToRun, log: Console) -> tuple[Status, str]:
    started = (folder / "config.json").is_file()
    if started:  # threads may differ: it goes on as it began
        config = RunConfig.read(folder)
    try:
        run(
            config,
            folder,
            resume=started,
            checkpoint_seconds=how.checkpoint_seconds,
            display=PlainDisplay(log, seconds=60.0),
        )
    except RunInterrupted as error:
        return "interrupted", str(error)
    except ScaleError as error:
        log.print(str(error), markup=False, highlight=False, soft_wrap=True)
        return "failed", str(error)
    except Exception as error:  # one broken run must not stop the others
        log.print(traceback.format_exc(), markup=False, highlight=False, soft_wrap=True)
        return "failed", f"{type(error).__name__}: {error}"
    tidy(folder, keep_learner=how.keep_learner)
    return "done", ""
