"""The command ``scale bench``."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console
from rich.table import Table
from tyro.conf import Positional, arg

from scale._errors import InputError
from scale.bench.display import (
    BenchDisplay,
    LiveBenchDisplay,
    PlainBenchDisplay,
    duration,
    failures_table,
)
from scale.bench.drive import Result, drive
from scale.bench.engine import Engine, InProcess
from scale.bench.experiment import Experiment, list_experiments, load_experiment, seeds_axis
from scale.bench.folder import BenchFolder
from scale.bench.job import Job
from scale.bench.plan import plan
from scale.bench.pool import Pool, threads_each, usual_workers
from scale.bench.settings import parse_value
from scale.bench.work import HowToRun

Names = tuple[str, ...]


@dataclass(kw_only=True)
class Options:
    """Run one of the paper's experiments, or one of your own; go on with it when it was stopped.

    Any other setting of a run or parameter of a method can be given too, with one or more values,
    for example --lam 0 0.1 1 or --preset paper.
    """

    experiment: Positional[str]
    """Name of an experiment (scale bench lists them) or path of a .toml file."""
    out: Path | None = None
    """Folder of the bench; bench/NAME when not given. The same one goes on where it was."""
    dataset: Annotated[Names, arg(aliases=["--datasets"])] = ()
    """Datasets, instead of the experiment's."""
    streams: Annotated[Names, arg(aliases=["--stream"])] = ()
    """Streams, instead of the experiment's."""
    methods: Annotated[Names, arg(aliases=["--method"])] = ()
    """Methods, instead of the experiment's."""
    variants: Names = ()
    """Which of the experiment's variants; all when not given."""
    seeds: int | None = None
    """How many seeds, from 0 on."""
    updates: int | None = None
    """Updates for each stream batch (steps_per_batch)."""
    samples_per_class: int | None = None
    """Images of each class in the stream."""
    engine: Literal["in-process", "pool", "ray"] = "pool"
    """One run after the other in this process; several processes; or a Ray cluster."""
    workers: int | None = None
    """Processes of the pool; as many as cores when not given. Threads of each: cores / workers."""
    address: str = "auto"
    """Ray cluster: auto is the one this machine belongs to, local starts one here."""
    cpus: int = 1
    """CPUs that a run reserves on the Ray cluster."""
    gpus: float = 0.0
    """GPUs that a run reserves on the Ray cluster; give --device cuda too."""
    checkpoint_seconds: float = 60.0
    """Least time between two checkpoints of a run; 0: after every batch."""
    keep_learners: bool = False
    """Keep what each run has learned, for scale embed and scale evaluate: often 100 MB a run."""
    dry_run: bool = False
    """Only say how many runs and updates it is and, after measuring a few, how long it takes."""
    show: bool = False
    """Only print the experiment's file, to be copied and changed."""
    more: tyro.conf.Suppress[dict[str, list[Any]]] = field(default_factory=dict)

    def chosen(self) -> dict[str, list[Any]]:
        """Return the values that replace the experiment's own, by setting."""
        given: dict[str, list[Any]] = {
            "dataset": list(self.dataset),
            "stream": list(self.streams),
            "method": list(self.methods),
            "seed": [] if self.seeds is None else seeds_axis(self.seeds),
            "steps_per_batch": [] if self.updates is None else [self.updates],
            "samples_per_class": (
                [] if self.samples_per_class is None else [self.samples_per_class]
            ),
        }
        return {**{name: values for name, values in given.items() if values}, **self.more}


def bench(arguments: list[str]) -> int:
    """Run the command; return 0 when all is done, 1 when runs failed, 130 when interrupted."""
    console = Console()
    if not arguments:
        _list(console)
        return 0
    options = parse(arguments)
    experiment = load_experiment(options.experiment)
    if options.show:
        sys.stdout.write(experiment.text)
        return 0
    if experiment.kind == "timings":
        return _timings(experiment, options, console)
    jobs = plan(experiment, options.chosen(), options.variants)
    if options.dry_run:
        _dry_run(jobs, options, console)
        return 0
    folder = _folder(experiment, options)
    display: BenchDisplay = (
        LiveBenchDisplay(console) if console.is_terminal else PlainBenchDisplay(console)
    )
    result = drive(jobs, folder, _engine(folder, options), display)
    return _report(result, folder, arguments, console)


def parse(arguments: list[str]) -> Options:
    """Parse the command's own options; those it does not have are settings of the runs."""
    own, more = _split(arguments)
    options = tyro.cli(Options, prog="scale bench", args=own)
    if options.workers is not None and options.workers < 1:
        raise InputError(f"workers must be 1 or more, got {options.workers}")
    options.more = more
    return options


def _split(arguments: list[str]) -> tuple[list[str], dict[str, list[Any]]]:
    own, more = list[str](), dict[str, list[Any]]()
    into: list[Any] | None = None
    for argument in arguments:
        name, _, value = argument.partition("=")
        setting = name.removeprefix("--").replace("-", "_")
        if name.startswith("--") and setting not in _OWN:
            into = more.setdefault(setting, [])
            if value:
                into.append(parse_value(value))
        elif argument.startswith("-") and not _is_number(argument):
            into = None
            own.append(argument)
        elif into is None:
            own.append(argument)
        else:
            into.append(parse_value(argument))
    for name, values in more.items():
        if not values:
            raise InputError(f"--{name.replace('_', '-')} needs a value")
    return own, more


_OWN = {
    *(name for name in Options.__dataclass_fields__ if name != "more"),
    *("help", "datasets", "stream", "method"),
    *(f"no_{name}" for name in ("dry_run", "show", "keep_learners")),
}


def _is_number(text: str) -> bool:
    return isinstance(parse_value(text), int | float)


def _list(console: Console) -> None:
    table = Table("experiment", "what it shows", "as", box=None)
    for experiment in list_experiments():
        table.add_row(experiment.name, experiment.title, experiment.kind)
    console.print(table)
    console.print(
        "scale bench NAME runs one, with --dry-run says what it takes, with --show prints its file",
        highlight=False,
        soft_wrap=True,
    )


def _folder(experiment: Experiment, options: Options) -> BenchFolder:
    folder = BenchFolder(options.out or Path("bench") / experiment.name)
    folder.keep(experiment)
    return folder


def _engine(folder: BenchFolder, options: Options) -> Engine:
    how = HowToRun(options.checkpoint_seconds, options.keep_learners)
    if options.engine == "in-process":
        return InProcess(folder, how)
    if options.engine == "pool":
        return Pool(folder, how, options.workers)
    from scale.bench.on_ray import OnRay

    return OnRay(folder, how, options.address, options.cpus, options.gpus)


def _dry_run(jobs: list[Job], options: Options, console: Console) -> None:
    from scale.bench.probe import estimate

    workers = {"in-process": 1, "pool": options.workers or usual_workers()}.get(options.engine, 1)
    threads = threads_each(workers)

    def tell(text: str) -> None:
        console.print(text, markup=False, emoji=False, highlight=False, soft_wrap=True)

    found = estimate(jobs, threads, tell)
    each = duration(found.seconds)
    tell(
        f"{found.runs} runs, {found.updates} updates in all; {each} of work as measured here with "
        f"{threads} thread(s) a run: about {duration(found.seconds / workers)} with {workers} "
        "run(s) at a time"
    )


def _timings(experiment: Experiment, options: Options, console: Console) -> int:
    from scale.bench.timings import plan_timings, run_timings

    def tell(text: str) -> None:
        console.print(text, markup=False, emoji=False, highlight=False, soft_wrap=True)

    chosen = options.chosen()
    if options.dry_run:
        tell(f"{len(list(plan_timings(experiment, chosen)))} timings, no runs: a minute or two")
        return 0
    folder = _folder(experiment, options)
    measured = run_timings(experiment, chosen, folder, tell)
    tell(f"{measured} new timings in {folder.records_path}")
    return 0


def _report(result: Result, folder: BenchFolder, arguments: list[str], console: Console) -> int:
    def tell(text: str) -> None:
        console.print(text, markup=False, emoji=False, highlight=False, soft_wrap=True)

    if result.failed:
        logs = [folder.log(outcome.job) for outcome in result.failed]
        console.print(failures_table(result.failed, logs))
    again = f"scale bench {shlex.join(arguments)}"
    if result.interrupted:
        sys.stderr.write(f"scale: stopped and saved; go on with: {again}\n")
        return 130
    tell(
        f"{result.before + result.done} runs done ({result.before} before) and "
        f"{len(result.failed)} failed in {duration(result.seconds)}; "
        f"show them with: scale table {folder.records_path}, "
        f"draw them with: scale plot {folder.path} --out figure.png"
    )
    return 1 if result.failed else 0
