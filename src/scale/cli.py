"""The commands. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import tyro
from tyro.conf import Positional

from scale._errors import InputError, ScaleError

if TYPE_CHECKING:
    from rich.console import Console

    from scale.runs import Display, RunConfig

UNSEEN_WIDTH = 240
USAGE = """\
usage: scale COMMAND [options]        (scale COMMAND --help tells a command's options)

Keep learning from an unlabelled image stream: online, single pass, no labels, no boundaries.

commands:
  run       learn from a stream, with evaluation, checkpoints and pictures; --resume goes on
  bench     run an experiment of the paper, or your own: many runs, several at a time
  evaluate  evaluate a run's learner again, with more or fewer labels
  embed     embed new images with a run's encoder
  table     show finished runs: mean and deviation over seeds, floors beside them
  methods   list the methods: what each knows and costs; methods NAME tells its parameters
  streams   draw the streams of a dataset as one picture, class over time
  data      list the datasets and where they are; data get NAME downloads one

try it:
  scale run --dataset digits --stream seq --out runs/first
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status: 0 done, 2 the user's mistake, 130 interrupted."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        return dispatch(arguments)
    except ScaleError as error:
        sys.stderr.write(f"scale: {error}\n")
        return 130 if type(error).__name__ == "RunInterrupted" else 2
    except KeyboardInterrupt:
        sys.stderr.write("scale: stopped at once; what the last checkpoint holds is kept\n")
        return 130
    except BrokenPipeError:
        return 0


def dispatch(arguments: list[str]) -> int:
    """Run the command that the first argument names."""
    match arguments:
        case [] | ["-h" | "--help" | "help", *_]:
            sys.stdout.write(USAGE)
        case ["--version", *_]:
            from importlib.metadata import version

            sys.stdout.write(f"scale-lifelong {version('scale-lifelong')}\n")
        case ["run", *rest]:
            run(*parse_run(rest))
        case ["bench", *rest]:
            from scale.bench.command import bench

            _keep_freed_memory()
            return bench(rest)
        case ["embed", *rest]:
            tyro.cli(embed, prog="scale embed", args=rest)
        case ["evaluate", *rest]:
            tyro.cli(evaluate, prog="scale evaluate", args=rest)
        case ["table", *rest]:
            tyro.cli(table, prog="scale table", args=rest)
        case ["methods", *rest]:
            tyro.cli(methods, prog="scale methods", args=rest)
        case ["streams", *rest]:
            tyro.cli(streams, prog="scale streams", args=rest)
        case ["data", "get", *rest]:
            tyro.cli(data_get, prog="scale data get", args=rest)
        case ["data", *rest]:
            tyro.cli(data, prog="scale data", args=rest)
        case [unknown, *_]:
            raise InputError(f"there is no command {unknown!r}; scale --help lists them")
    return 0


@dataclass(kw_only=True)
class Folder:
    """Where a run goes and how it is kept."""

    out: Path
    """Folder of the run: config, metrics, checkpoints, learner, summary, pictures."""
    resume: bool = False
    """Go on with the run in that folder; no other option is needed."""
    preset: str | None = None
    """Named set of parameters of the method, for example paper."""
    checkpoint_seconds: float = 60.0
    """Least time between two checkpoints; 0: after every batch."""
    pictures: bool = True
    """Draw the run's pictures at the end."""


def parse_run(arguments: list[str]) -> tuple[Folder, RunConfig]:
    """Build the parser from the method that is asked for, and parse."""
    from scale.methods import METHODS
    from scale.runs import RunConfig, recipe_params

    config = RunConfig()
    out = _peek(arguments, "--out")
    if "--resume" in arguments and out is not None:
        config = RunConfig.read(Path(out))
    dataset = _peek(arguments, "--dataset") or config.dataset
    method = METHODS[_peek(arguments, "--method") or config.method]
    preset = _peek(arguments, "--preset")
    if preset is not None and preset not in method.presets:
        known = ", ".join(method.presets) or "none"
        raise InputError(f"{method.name} has no preset {preset!r} (known: {known})")
    usual = {**recipe_params(dataset, method), **method.presets.get(preset or "", {})}
    Parsed = dataclasses.make_dataclass(
        "Parsed", [("folder", Folder), ("run", RunConfig), ("method", method)]
    )
    parsed: Any = tyro.cli(
        Parsed,
        prog="scale run",
        description="Learn from a stream, with evaluation, checkpoints and pictures.",
        args=arguments,
        config=(tyro.conf.OmitArgPrefixes, tyro.conf.SuppressFixed),
        default=Parsed(
            Folder(out=tyro.MISSING),
            dataclasses.replace(config, params={}),
            method(**{**usual, **config.params}),
        ),
    )
    chosen = parsed.method.get_params()
    chosen.pop("seed")
    return parsed.folder, dataclasses.replace(parsed.run, params=chosen)


def run(folder: Folder, config: RunConfig) -> None:
    """Run, then draw the pictures."""
    from scale import runs

    _keep_freed_memory()
    summary = runs.run(
        config,
        folder.out,
        resume=folder.resume,
        checkpoint_seconds=folder.checkpoint_seconds,
        display=_display(),
    )
    if folder.pictures:
        from scale.report import draw_run

        names = ", ".join(path.name for path in draw_run(folder.out))
        _say(f"pictures in {folder.out}: {names or 'none, there are no labels'}")
    if summary["collapsed"]:
        _say("warning: the features had collapsed at the end of the stream")


def evaluate(
    run: Positional[Path], *, bank_size: int | None = None, to: Path | None = None
) -> None:
    """Evaluate a run's learner again, and the floors beside it, with more or fewer labels.

    Args:
        run: Folder of a run, finished or not.
        bank_size: Labelled images for the kNN and the probe; the dataset's usual when not given.
        to: Also append the measures to this file, one JSON line.
    """
    from scale.report import append_evaluation
    from scale.runs import measure_again, measures_table

    measures = measure_again(run, bank_size)
    if to is not None:
        append_evaluation(run, bank_size, measures, to)
    labels = "the usual bank" if bank_size is None else f"a bank of {bank_size} labelled images"
    _console().print(measures_table(measures, f"{run} with {labels}"))


def embed(
    run: Positional[Path],
    images: Positional[str],
    *,
    out: Path,
    on_bad: Literal["stop", "skip"] = "stop",
) -> None:
    """Embed new images with a run's encoder.

    Args:
        run: Folder of a run, finished or not, or a saved learner.
        images: A folder of images, .npy, .npz, or a dataset's name.
        out: The .npy file to write: one row of float32 features per image.
        on_bad: Stop at a file that is no readable image, or skip it.
    """
    from scale.runs import embed_images

    (count, dim), skipped = embed_images(run, images, out, on_bad=on_bad)
    for name in skipped:
        _say(f"skipped {name}")
    _say(f"{count} embeddings of {dim} numbers in {out}")


def table(
    sources: Positional[list[Path]],
    *,
    columns: list[str] | None = None,
    markdown: bool = False,
    to: Path | None = None,
) -> None:
    """Show finished runs, mean and standard deviation over seeds, with the floors beside them.

    Args:
        sources: Folders of finished runs, and files of records (.jsonl).
        columns: What to show, for example knn linear time; a terminal shows five of them when not
            given, Markdown all.
        markdown: Print a Markdown table instead of one for the terminal.
        to: Also append the runs among the sources to this file of records.
    """
    from scale import report

    if to is not None:
        added = report.append_records([path for path in sources if path.is_dir()], to)
        sys.stderr.write(f"{added} new records in {to}\n")
    shown_columns = columns or (() if markdown else report.IN_SHORT)
    results = report.make_table(report.read_records(sources), shown_columns)
    if markdown:
        sys.stdout.write(results.markdown() + "\n")
        return
    for shown in results.terminal():
        _table_console().print(shown)
    if not columns:
        _say(f"more with --columns: {' '.join(report.COLUMNS)}")


def methods(
    name: Positional[str | None] = None, *, json: bool = False, markdown: bool = False
) -> None:
    """List the methods: what each is allowed to know, what it costs; below, the memory policies.

    Args:
        name: Only this method, with its parameters, presets and reference.
        json: Print the facts for programs: the keys that scale.report.method_facts documents.
        markdown: Print the list as Markdown tables.
    """
    from scale import report

    if name is not None and markdown:
        raise InputError("--markdown is for the list of all methods; leave out one of the two")
    facts: Any = report.all_facts() if name is None else report.method_facts(name)
    console = _table_console()
    if json:
        sys.stdout.write(dumps(facts, indent=1, default=str) + "\n")
    elif markdown:
        sys.stdout.write(report.methods_markdown(facts) + "\n")
    elif name is None:
        console.print(*report.methods_on_terminal(facts, console.width), sep="\n")
    else:
        console.print(*report.method_on_terminal(facts), sep="\n")


def streams(
    *,
    dataset: str = "digits",
    out: Path = Path("streams.png"),
    label: str | None = None,
    samples_per_class: int | None = None,
    class_order: Literal["natural", "seeded"] = "natural",
    seed: int = 0,
) -> None:
    """Draw the streams of a dataset as one picture, class over time.

    Args:
        dataset: Name, hub id, folder, .npy or .npz; it must have labels.
        out: The picture to write.
        label: Label column of a hub dataset, for example fine_label.
        samples_per_class: Images of each class; the dataset's usual when not given.
        class_order: Classes by their number or in an order drawn from the seed.
        seed: Seed of the streams.
    """
    from scale.report import draw_dataset_streams

    draw_dataset_streams(
        dataset,
        out,
        label=label,
        samples_per_class=samples_per_class,
        class_order=class_order,
        seed=seed,
    )
    _say(f"the streams of {dataset} are drawn in {out}")


def data() -> None:
    """List the datasets, whether they are here, and from where; data get NAME downloads one."""
    from rich.table import Table

    from scale.data import list_datasets

    shown = Table()
    for column in ("dataset", "images", "size", "where"):
        shown.add_column(column, overflow="fold")
    for status in list_datasets():
        images = ", ".join(f"{split} {count:,}" for split, count in status.splits.items())
        size = f"{status.size / 1e6:.0f} MB" if status.size else ""
        shown.add_row(status.name, images, size, status.where)
    _console().print(shown)


def data_get(name: Positional[str]) -> None:
    """Download a dataset from the Hugging Face hub, verified and resumable.

    Args:
        name: Name of a dataset, or a hub id (owner/name).
    """
    from scale.data import get_dataset

    with _progress("downloading") as progress:
        folder = get_dataset(name, progress=progress)
    _say(f"{name} is in {folder}")


def _keep_freed_memory() -> None:
    """Let glibc reuse the memory of large tensors instead of returning it at every update.

    Mapping and unmapping them costs a tenth of an update. It changes the whole process, so only the
    command does it, not the library.
    """
    with contextlib.suppress(OSError, AttributeError):  # another C library
        libc = ctypes.CDLL(None)
        libc.mallopt(-3, 2**30)  # M_MMAP_THRESHOLD
        libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD


def _peek(arguments: list[str], option: str) -> str | None:
    """Return an option's value before the parser that depends on it exists."""
    for i, argument in enumerate(arguments):
        if argument == option and i + 1 < len(arguments):
            return arguments[i + 1]
        if argument.startswith(f"{option}="):
            return argument.removeprefix(f"{option}=")
    return None


def _console() -> Console:
    from rich.console import Console

    return Console()


def _table_console() -> Console:
    """Return a console that is wide when nobody looks, so that a pipe gets unbroken rows."""
    from rich.console import Console

    unseen = not sys.stdout.isatty() and "COLUMNS" not in os.environ
    return Console(width=UNSEEN_WIDTH if unseen else None)


def _say(text: str) -> None:
    _console().print(text, highlight=False, markup=False, soft_wrap=True)


def _display() -> Display:
    from scale.runs import LiveDisplay, PlainDisplay

    console = _console()
    return LiveDisplay(console) if console.is_terminal else PlainDisplay(console)


@contextlib.contextmanager
def _progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a progress bar; yields the function to call with (done, total)."""
    from rich.progress import DownloadColumn, Progress, TransferSpeedColumn

    columns = (*Progress.get_default_columns(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=_console()) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
