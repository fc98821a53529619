"""The commands. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from scale._errors import InputError, ScaleError

if TYPE_CHECKING:
    from rich.console import Console

    from scale.runs import Display, RunConfig

USAGE = """\
usage: scale COMMAND [options]        (scale COMMAND --help tells a command's options)

Keep learning from an unlabelled image stream: online, single pass, no labels, no boundaries.

commands:
{commands}

try it:
  scale run --dataset digits --stream seq --out runs/first
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status: 0 done, 2 the user's mistake, 130 interrupted."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        lines = (f"  {name:9} {command.__doc__}" for name, command in COMMANDS.items())
        sys.stdout.write(USAGE.format(commands="\n".join(lines)))
        return 0
    try:
        return _command(arguments[0])(arguments[1:])
    except ScaleError as error:
        sys.stderr.write(f"scale: {error}\n")
        return 130 if type(error).__name__ == "RunInterrupted" else 2
    except KeyboardInterrupt:
        sys.stderr.write("scale: stopped at once; what the last checkpoint holds is kept\n")
        return 130
    except BrokenPipeError:
        return 0


def _command(name: str) -> Callable[[list[str]], int]:
    if name == "--version":
        return _version
    if name not in COMMANDS:
        known = ", ".join(COMMANDS)
        raise InputError(f"there is no command {name!r}; the commands are {known}")
    return COMMANDS[name]


@dataclass(kw_only=True)
class RunOptions:
    """Where a run goes and how it is kept; what is run are the options after these."""

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


def run_command(arguments: list[str]) -> int:
    """learn from a stream, with evaluation, checkpoints and pictures; --resume goes on"""
    from scale.runs import run

    options, config = _parse_run(arguments)
    summary = run(
        config,
        options.out,
        resume=options.resume,
        checkpoint_seconds=options.checkpoint_seconds,
        display=_display(),
    )
    console = _console()
    if options.pictures:
        from scale.report import draw_run

        pictures = ", ".join(path.name for path in draw_run(options.out))
        console.print(f"pictures in {options.out}: {pictures}", highlight=False, soft_wrap=True)
    if summary["collapsed"]:
        console.print("warning: the features had collapsed at the end of the stream")
    return 0


def _parse_run(arguments: list[str]) -> tuple[RunOptions, RunConfig]:
    """Build the parser from the method that is asked for, and parse."""
    import tyro

    from scale.methods import METHODS
    from scale.runs import RunConfig, recipe_for

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
    params = {**recipe_for(dataset).params, **method.presets.get(preset or "", {}), **config.params}

    Parsed = dataclasses.make_dataclass(
        "Parsed", [("folder", RunOptions), ("run", RunConfig), ("method", method)]
    )
    parsed: Any = tyro.cli(
        Parsed,
        prog="scale run",
        description=run_command.__doc__,
        args=arguments,
        config=(tyro.conf.OmitArgPrefixes, tyro.conf.SuppressFixed),
        default=Parsed(
            RunOptions(out=tyro.MISSING), dataclasses.replace(config, params={}), method(**params)
        ),
    )
    chosen = parsed.method.get_params()
    chosen.pop("seed")
    return parsed.folder, dataclasses.replace(parsed.run, params=chosen)


def embed_command(arguments: list[str]) -> int:
    """embed new images with a run's encoder"""
    import tyro

    def embed(
        run: Annotated[Path, tyro.conf.Positional],
        images: Annotated[str, tyro.conf.Positional],
        out: Path,
        on_bad: Literal["stop", "skip"] = "stop",
    ) -> int:
        """Embed new images with a run's encoder.

        Args:
            run: Folder of a run, finished or not, or a saved learner.
            images: A folder of images, one image, .npy, .npz, or a dataset's name.
            out: The .npy file to write: one row of float32 features per image.
            on_bad: stop at a file that is no readable image, or skip it.
        """
        from scale.runs import embed_images

        z, skipped = embed_images(run, images, out, on_bad=on_bad)
        console = _console()
        for name in skipped:
            console.print(f"skipped {name}", highlight=False, soft_wrap=True)
        console.print(f"{z[0]} embeddings of {z[1]} numbers in {out}", highlight=False)
        return 0

    status: int = tyro.cli(embed, prog="scale embed", args=arguments)
    return status


def streams_command(arguments: list[str]) -> int:
    """draw the streams of a dataset as one picture, class over time"""
    import tyro

    def streams(
        dataset: str = "digits",
        out: Path = Path("streams.png"),
        label: str | None = None,
        samples_per_class: int | None = None,
        class_order: Literal["natural", "seeded"] = "natural",
        seed: int = 0,
    ) -> int:
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
        _console().print(f"the streams of {dataset} are drawn in {out}", highlight=False)
        return 0

    status: int = tyro.cli(streams, prog="scale streams", args=arguments)
    return status


def data_command(arguments: list[str]) -> int:
    """list the datasets and where they are; data get NAME downloads one"""
    import tyro

    def listing() -> int:
        """List the datasets, whether they are here, and from where."""
        from rich.table import Table

        from scale.data import list_datasets

        table = Table()
        for column in ("dataset", "images", "size", "where"):
            table.add_column(column, overflow="fold")
        for status in list_datasets():
            images = ", ".join(f"{split} {count:,}" for split, count in status.splits.items())
            size = f"{status.size / 1e6:.0f} MB" if status.size else ""
            table.add_row(status.name, images, size, status.where)
        _console().print(table)
        return 0

    def get(name: Annotated[str, tyro.conf.Positional]) -> int:
        """Download a dataset from the Hugging Face hub, verified and resumable.

        Args:
            name: Name of a dataset, or a hub id (owner/name).
        """
        from scale.data import get_dataset

        with _progress("downloading") as progress:
            folder = get_dataset(name, progress=progress)
        _console().print(f"{name} is in {folder}", highlight=False, soft_wrap=True)
        return 0

    if arguments[:1] == ["get"]:
        status: int = tyro.cli(get, prog="scale data get", args=arguments[1:])
    else:
        description = "List the datasets; `scale data get NAME` downloads one."
        status = tyro.cli(listing, prog="scale data", description=description, args=arguments)
    return status


def _version(arguments: list[str]) -> int:
    from importlib.metadata import version

    sys.stdout.write(f"scale-lifelong {version('scale-lifelong')}\n")
    return 0


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "run": run_command,
    "embed": embed_command,
    "streams": streams_command,
    "data": data_command,
}


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
