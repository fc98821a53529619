"""The command ``scale bench``."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.table import Table
from tyro.conf import Positional, arg

from scale._errors import InputError
from scale._numbers import check_number
from scale._output import tell
from scale._text import shell_line
from scale.bench.display import (
    BenchDisplay,
    LiveBenchDisplay,
    PlainBenchDisplay,
    failures_table,
)
from scale.bench.drive import Result, drive
from scale.bench.engine import Engine, InProcess
from scale.bench.experiment import list_experiments, load_experiment, seeds_axis
from scale.bench.folder import BenchFolder
from scale.bench.job import Job
from scale.bench.plan import plan
from scale.bench.pool import Pool, threads_each, usual_workers
from scale.bench.settings import parse_value
from scale.bench.work import HowToRun
from scale.commands._parse import parse as parse_options
from scale.commands._terminal import console, keep_freed_memory, put, say, table_console
from scale.runs.probe import duration

Names = tuple[str, ...]
MOST_WORKERS = 1024
OF_ENGINES = {"pool": ("workers",), "ray": ("address", "cpus", "gpus")}
"""Options that mean something to one engine only."""


@dataclass(kw_only=True)
class Options:
    """Run one of the paper's experiments or your own; the same command resumes a stopped bench.

    Any other option of a run or parameter of a method can be given too, with one or more values,
    for example --lam 0 0.1 1 or --preset paper.
    """

    experiment: Positional[Annotated[str, arg(metavar="EXPERIMENT")]]
    """Name of an experiment (scale bench lists them) or path of a .toml file."""
    out: Path | None = None
    """Folder of the bench; default bench/NAME. Give the same folder to resume."""
    dataset: Annotated[Names, arg(aliases=["--datasets"])] = ()
    """Datasets to use instead of the experiment's."""
    streams: Annotated[Names, arg(aliases=["--stream"])] = ()
    """Streams to use instead of the experiment's."""
    methods: Annotated[Names, arg(aliases=["--method"])] = ()
    """Methods to use instead of the experiment's."""
    variants: Names = ()
    """Which of the experiment's variants to run; default all."""
    seeds: int | None = None
    """Number of seeds, counted from 0. More seeds give narrower intervals."""
    updates: int | None = None
    """Updates per stream batch (steps_per_batch). Fewer updates make a bench faster."""
    samples_per_class: int | None = None
    """Images of each class in the stream. Fewer images make a bench faster."""
    engine: Literal["in-process", "pool", "ray"] = "pool"
    """in-process: one run after the other; pool: several processes; ray: a Ray cluster."""
    workers: int | None = None
    """Processes of the pool; default one per core. Each gets cores / workers threads."""
    address: str = "auto"
    """Ray cluster: auto uses the one of this machine, local starts one here."""
    cpus: int = 1
    """CPUs that a run reserves on the Ray cluster."""
    gpus: float = 0.0
    """GPUs that a run reserves on the Ray cluster; give --device cuda too."""
    checkpoint_seconds: float = 60.0
    """Seconds between two checkpoints of a run; 0 writes one after every batch."""
    keep_learners: bool = False
    """Keep each run's learner for scale embed and scale evaluate: often 100 MB a run."""
    any_code: bool = False
    """Accept finished runs that other code made. By default a bench runs them again."""
    dry_run: bool = False
    """Only count the runs and updates, and estimate the time from a few updates."""
    show: bool = False
    """Only print the experiment's file, to copy and change."""
    more: tyro.conf.Suppress[dict[str, list[Any]]] = field(default_factory=dict)

    def chosen(self) -> dict[str, list[Any]]:
        """Return the values that replace those of the experiment, by setting."""
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
    if not arguments:
        _list()
        return 0
    options = parse(arguments)
    experiment = load_experiment(options.experiment)
    if options.show:
        put(experiment.text)
        return 0
    jobs = plan(experiment, options.chosen(), options.variants)
    keep_freed_memory()
    if options.dry_run:
        _dry_run(jobs, options)
        return 0
    folder = BenchFolder(options.out or Path("bench") / experiment.name, any_code=options.any_code)
    folder.keep(experiment)
    screen = console()
    display: BenchDisplay = (
        LiveBenchDisplay(screen) if screen.is_terminal else PlainBenchDisplay(screen)
    )
    result = drive(jobs, folder, _engine(folder, options), display)
    return _report(result, folder, arguments)


def parse(arguments: list[str]) -> Options:
    """Return the parsed options; options that are not the command's are settings of the runs."""
    own, more = _split(arguments)
    options: Options = parse_options(Options, "scale bench", own)
    if options.workers is not None:
        check_number("workers", options.workers, least=1, most=MOST_WORKERS, whole=True)
    check_number("gpus", options.gpus, least=0)
    check_number("cpus", options.cpus, least=1, whole=True)
    check_number("checkpoint_seconds", options.checkpoint_seconds, least=0)
    _refuse_unused(options)
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
    *(f"no_{name}" for name in ("dry_run", "show", "keep_learners", "any_code")),
}


def _is_number(text: str) -> bool:
    return isinstance(parse_value(text), int | float)


def _list() -> None:
    table = Table("experiment", "what it shows", "as", box=None)
    for experiment in list_experiments():
        table.add_row(experiment.name, experiment.title, experiment.kind)
    table_console().print(table)
    say("scale bench NAME runs one; --dry-run estimates its time; --show prints its file")


def _engine(folder: BenchFolder, options: Options) -> Engine:
    how = HowToRun(options.checkpoint_seconds, options.keep_learners)
    if options.engine == "in-process":
        return InProcess(folder, how)
    if options.engine == "pool":
        return Pool(folder, how, options.workers)
    from scale.bench.on_ray import OnRay

    return OnRay(folder, how, options.address, options.cpus, options.gpus)


def _refuse_unused(options: Options) -> None:
    """Refuse options of another engine, which would change nothing."""
    usual = Options(experiment="")
    for engine, names in OF_ENGINES.items():
        for name in names:
            if options.engine != engine and getattr(options, name) != getattr(usual, name):
                raise InputError(f"--{name} is for --engine {engine}; leave it out, or choose that")


def _dry_run(jobs: list[Job], options: Options) -> None:
    from scale.bench.estimate import estimate

    workers = {"in-process": 1, "pool": options.workers or usual_workers()}.get(options.engine, 1)
    threads = threads_each(workers)
    found = estimate(jobs, threads, say)
    each = duration(found.seconds)
    say(
        f"{found.runs} runs, {found.updates} updates in all; {each} of work as measured here with "
        f"{threads} thread(s) a run: about {duration(found.seconds / workers)} with {workers} "
        "run(s) at a time"
    )


def _report(result: Result, folder: BenchFolder, arguments: list[str]) -> int:
    if result.failed:
        logs = [folder.log(outcome.job) for outcome in result.failed]
        console().print(failures_table(result.failed, logs))
    again = shell_line(["scale", "bench", *arguments])
    if result.interrupted:
        tell(f"stopped and saved; go on with: {again}")
        return 130
    say(
        f"{result.before + result.done} runs done ({result.before} before) and "
        f"{len(result.failed)} failed in {duration(result.seconds)}; "
        f"show them with: scale table {folder.records_path}, "
        f"draw them with: scale plot {folder.path} --out figure.png"
    )
    return 1 if result.failed else 0
