"""The display of a bench: a live view of all jobs on a terminal, plain lines elsewhere."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from scale._text import printable
from scale.bench.engine import Outcome
from scale.bench.job import Job
from scale.runs.probe import duration


class BenchDisplay:
    """Counts the jobs and shows nothing; the base class of the other displays."""

    def __init__(self) -> None:
        self.total = self.before = self.done = self.failed = self.waiting = 0
        self.workers = 1
        self.running: dict[int, tuple[Job, float]] = {}
        self._seconds: list[float] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Stop showing."""

    def begin(self, total: int, before: int, workers: int) -> None:
        """The first jobs are about to start."""
        self.total, self.before, self.workers = total, before, workers
        self.waiting = total - before

    def started(self, job: Job) -> None:
        """A job was given to the engine."""
        self.running[id(job)] = (job, time.monotonic())
        self.waiting -= 1

    def ended(self, outcome: Outcome) -> None:
        """A job has ended: done, failed, busy or interrupted."""
        self.running.pop(id(outcome.job), None)
        if outcome.status == "done":
            self.done += 1
            if outcome.seconds:
                self._seconds.append(outcome.seconds)
        elif outcome.status == "failed":
            self.failed += 1

    def tick(self, waiting: int, workers: int) -> None:
        """Update the counts; the workers of a cluster come and go."""
        self.waiting, self.workers = waiting, workers

    def message(self, text: str) -> None:
        """Show a line of text."""

    def left(self) -> str:
        """Return an estimate of the time left, from the jobs that have ended."""
        if not self._seconds:
            return ""
        mean, now = statistics.mean(self._seconds), time.monotonic()
        work = self.waiting * mean
        work += sum(max(mean - (now - begin), 0.0) for _, begin in self.running.values())
        return f"about {duration(work / max(self.workers, 1))} left"

    def counts(self) -> str:
        """Return the state of all jobs on one line."""
        running = min(len(self.running), self.workers)  # the others are in a cluster's queue
        waiting = self.waiting + len(self.running) - running
        parts = [f"{self.before + self.done}/{self.total} done", f"{running} running"]
        parts += [f"{waiting} waiting", f"{self.failed} failed", self.left()]
        return ", ".join(part for part in parts if part)


class PlainBenchDisplay(BenchDisplay):
    """Lines of text, for logs: each job when it starts and when it ends."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self.console = console

    def message(self, text: str) -> None:
        plain = printable(text)
        self.console.print(plain, markup=False, emoji=False, highlight=False, soft_wrap=True)

    def begin(self, total: int, before: int, workers: int) -> None:
        super().begin(total, before, workers)
        self.message(f"{total} runs, {before} of them done already, {workers} at a time")

    def started(self, job: Job) -> None:
        super().started(job)
        self.message(f"start   {job.label}")

    def ended(self, outcome: Outcome) -> None:
        super().ended(outcome)
        taken = f" in {duration(outcome.seconds)}" if outcome.seconds else ""
        reason = f": {outcome.reason}" if outcome.status == "failed" else ""
        word = {"busy": "busy elsewhere", "interrupted": "stopped"}.get(outcome.status)
        self.message(f"{word or outcome.status:7} {outcome.job.label}{taken}{reason}")
        self.message(f"        {self.counts()}")


class LiveBenchDisplay(PlainBenchDisplay):
    """A view that is redrawn: a bar, the counts, and the jobs that run."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._live = Live(console=console, get_renderable=self._draw, refresh_per_second=2)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._live.stop()

    def started(self, job: Job) -> None:
        BenchDisplay.started(self, job)

    def ended(self, outcome: Outcome) -> None:
        BenchDisplay.ended(self, outcome)
        if outcome.status == "failed":
            self.message(f"failed {outcome.job.label}: {outcome.reason}")

    def _draw(self) -> Group:
        finished = self.before + self.done + self.failed
        grid = Table.grid(padding=(0, 2))
        for job, begin in list(self.running.values()):
            grid.add_row("running", Text(job.label), duration(time.monotonic() - begin))
        bar = Table.grid(expand=True)  # a bar alone does not end its line
        bar.add_row(ProgressBar(total=max(self.total, 1), completed=finished))
        return Group(bar, Text(self.counts()), grid)


def failures_table(failed: list[Outcome], logs: list[Path]) -> Table:
    """Return the failed runs, the reasons, and their logs."""
    table = Table(title="failed")
    for column in ("run", "reason", "log"):
        table.add_column(column, overflow="fold")
    for outcome, log in zip(failed, logs, strict=True):
        table.add_row(Text(outcome.job.label), Text(outcome.reason), Text(str(log)))
    return table
