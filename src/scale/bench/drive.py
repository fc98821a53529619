"""Run all jobs of a bench: skip finished ones, report failures, stop on request."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from scale.bench.display import BenchDisplay
from scale.bench.engine import Engine, Outcome
from scale.bench.folder import BenchFolder, is_free
from scale.bench.job import Job
from scale.runs.interrupt import Interrupts

TICK = 0.5  # seconds between checks of signals, of the display and of other benches


@dataclass
class Result:
    """How the jobs ended."""

    before: int = 0
    """Jobs that were finished before."""
    done: int = 0
    """Jobs that this bench ran to the end, or saw another bench finish."""
    failed: list[Outcome] = field(default_factory=list)
    interrupted: bool = False
    seconds: float = 0.0


def drive(
    jobs: Sequence[Job], folder: BenchFolder, engine: Engine, display: BenchDisplay
) -> Result:
    """Run the jobs that are not finished and return how all of them ended."""
    result, begin = Result(), time.monotonic()
    waiting = deque(job for job in jobs if not folder.finished(job))
    elsewhere: list[Job] = []  # other benches run these
    result.before = len(jobs) - len(waiting)
    others = folder.of_other_code(waiting)
    with Interrupts(display.message) as interrupts, engine, display:
        display.begin(len(jobs), result.before, engine.workers)
        for code, count in others.items():
            runs = "1 finished run was" if count == 1 else f"{count} finished runs were"
            display.message(
                f"{runs} made by other code ({code}): they run again; --any-code accepts them"
            )
        while (waiting or elsewhere or engine.running()) and not result.interrupted:
            while waiting and engine.room() > 0:
                job = waiting.popleft()
                display.started(job)
                engine.start(job)
            for outcome in engine.wait(TICK):
                _take(outcome, result, folder, elsewhere)
                display.ended(outcome)
            if not engine.running():  # jobs of other benches come last
                _look_after(elsewhere, waiting, result, folder, display)
            display.tick(len(waiting) + len(elsewhere), engine.workers)
            result.interrupted = result.interrupted or interrupts.requested
        if result.interrupted:
            engine.interrupt()
            while engine.running():
                for outcome in engine.wait(TICK):
                    _take(outcome, result, folder, elsewhere)
                    display.ended(outcome)
    result.seconds = time.monotonic() - begin
    return result


def _take(outcome: Outcome, result: Result, folder: BenchFolder, elsewhere: list[Job]) -> None:
    match outcome.status:
        case "done":
            folder.finished(outcome.job)  # adds its record
            result.done += 1
        case "busy":
            elsewhere.append(outcome.job)
        case "interrupted":
            result.interrupted = True
        case "failed":
            result.failed.append(outcome)


def _look_after(
    elsewhere: list[Job],
    waiting: deque[Job],
    result: Result,
    folder: BenchFolder,
    display: BenchDisplay,
) -> None:
    """Count the jobs that other benches have finished, and take over those they left."""
    for job in list(elsewhere):
        if not is_free(folder.run_folder(job)):
            continue
        elsewhere.remove(job)
        if folder.finished(job):
            result.done += 1
            display.ended(Outcome(job, "done"))
        else:
            waiting.append(job)
