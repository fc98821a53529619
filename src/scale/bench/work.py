"""Run one job from start to end; every engine calls this."""

from __future__ import annotations

import traceback
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from scale._console import Screen
from scale._errors import InputError, ScaleError
from scale._output import News
from scale.bench.folder import JobBusyError, claim, tidy
from scale.runs import PlainDisplay, RunConfig, RunInterrupted, code_of, run

Status = Literal["done", "failed", "busy", "interrupted"]
EXIT: dict[Status, int] = {"done": 0, "failed": 1, "busy": 75, "interrupted": 130}
"""Exit status of a job's process."""


@dataclass(frozen=True)
class HowToRun:
    """Options of every run that change no number."""

    checkpoint_seconds: float = 60.0
    """Least time between two checkpoints."""
    keep_learner: bool = False
    """Keep the learner, not only the measures."""

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-able form."""
        return asdict(self)


def work(config: RunConfig, folder: Path, how: HowToRun, code: str) -> tuple[Status, str]:
    """Run or resume a job; return its status and a reason.

    Parameters
    ----------
    config
        Config of the run.
    folder
        Folder of the run; its messages go to ``log.txt`` in it.
    how
        Options that change no number.
    code
        Digest of the bench's code; a job with other code fails.
    """
    try:
        with claim(folder), open(folder / "log.txt", "a") as log:
            return _run(config, folder, how, code, Screen(News(log), width=120))
    except JobBusyError:
        return "busy", "another process runs it"


def _run(
    config: RunConfig, folder: Path, how: HowToRun, code: str, log: Screen
) -> tuple[Status, str]:
    started = (folder / "config.json").is_file()
    if started:  # keep its number of threads
        config = RunConfig.read(folder)
    try:
        _refuse_other_code(config, code)
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
        log.say(str(error))
        return "failed", str(error)
    except Exception as error:  # one broken run must not stop the others
        log.print(traceback.format_exc(), highlight=False, soft_wrap=True)
        return "failed", f"{type(error).__name__}: {error}"
    tidy(folder, keep_learner=how.keep_learner)
    return "done", ""


def _refuse_other_code(config: RunConfig, code: str) -> None:
    here = code_of(config)["digest"]
    if here != code:
        raise InputError(
            f"the code here (digest {here[:8]}) is not the bench's (digest {code[:8]}); start the "
            "bench again, with the same version of scale on every machine"
        )
