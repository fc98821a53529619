"""The command ``scale run``."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from scale.commands._terminal import console, keep_freed_memory, say

if TYPE_CHECKING:
    from scale.runs import Display, RunConfig


FOLDER_OPTIONS = {"--out", "--resume", "--checkpoint-seconds", "--pictures", "--no-pictures"}


@dataclass(kw_only=True)
class Folder:
    """Where a run is kept."""

    out: Path
    """Folder of the run: config, metrics, checkpoints, learner, summary, pictures."""
    resume: bool = False
    """Resume the run in that folder; no other option is needed. With all its options, the same
    command starts, resumes and finishes a run."""
    preset: str | None = None
    """Named set of parameters, for example paper. scale methods NAME lists those of a method."""
    checkpoint_seconds: float = 60.0
    """Seconds between two checkpoints; 0 writes one after every batch."""
    pictures: bool = True
    """Draw the run's pictures at the end."""


def parse_run(arguments: list[str]) -> tuple[Folder, RunConfig]:
    """Return the parsed options; the parser has the parameters of the chosen method."""
    from scale.methods import METHODS
    from scale.runs import RunConfig, parameters

    config = RunConfig()
    out = _peek(arguments, "--out")
    if "--resume" in arguments and out is not None and not _starts(Path(out), arguments):
        config = RunConfig.read(Path(out))
    dataset = _peek(arguments, "--dataset") or config.dataset
    name = _peek(arguments, "--method") or config.method
    method = METHODS[name]
    kept = config.params if config.method == name else {}
    params = parameters(name, dataset, _peek(arguments, "--preset"), kept)
    Options = _options()
    Parsed = dataclasses.make_dataclass(
        "Parsed", [("folder", Folder), ("run", Options), ("method", method)]
    )
    parsed: Any = tyro.cli(
        Parsed,
        prog="scale run",
        description="Learn from a stream, with evaluation, checkpoints and pictures.",
        args=arguments,
        config=(tyro.conf.OmitArgPrefixes, tyro.conf.SuppressFixed),
        default=Parsed(
            Folder(out=tyro.MISSING),
            Options(**{**vars(config), "params": {}}),
            method(**params),
        ),
    )
    chosen = parsed.method.get_params()
    chosen.pop("seed")
    return parsed.folder, RunConfig(**{**vars(parsed.run), "params": chosen})


def _options() -> type[RunConfig]:
    """Return `RunConfig` with help that lists the registered names."""
    from scale.data import DATASETS
    from scale.methods import METHODS
    from scale.runs import RunConfig
    from scale.streams import STREAMS

    helps = {
        "dataset": f"{', '.join(DATASETS)}; or a hub id, a folder of images, .npy or .npz.",
        "stream": f"Order of arrival: {', '.join(STREAMS)}. Use as-is for data without labels.",
        "method": f"{', '.join(METHODS)}; or a file of your own (path.py, path.py:Class). "
        "The parameters of the chosen one are options too.",
    }
    fields = [
        (name, Annotated[str, tyro.conf.arg(help=text)], getattr(RunConfig, name))
        for name, text in helps.items()
    ]
    return dataclasses.make_dataclass("Options", fields, bases=(RunConfig,), kw_only=True)


def run(folder: Folder, config: RunConfig) -> None:
    """Run, then draw the pictures."""
    from scale import runs

    keep_freed_memory()
    summary = runs.run(
        config,
        folder.out,
        resume=folder.resume,
        checkpoint_seconds=folder.checkpoint_seconds,
        display=_display(),
        tell_cost=True,
    )
    if folder.pictures:
        from scale.report import draw_run

        names = ", ".join(path.name for path in draw_run(folder.out))
        say(f"pictures in {folder.out}: {names or 'none, there are no labels'}")
    if summary["collapsed"]:
        say("warning: the features had collapsed at the end of the stream")


def _starts(out: Path, arguments: list[str]) -> bool:
    """Return whether --resume starts a run: the folder is empty and the user gave run options.

    Examples
    --------
    >>> _starts(Path("no-such-run"), ["--out", "no-such-run", "--resume", "--seed=1"])
    True
    >>> _starts(Path("no-such-run"), ["--out", "no-such-run", "--resume", "--no-pictures"])
    False
    """
    from scale.runs.config import has_begun

    given = {one.split("=")[0].replace("_", "-") for one in arguments if one.startswith("--")}
    return not has_begun(out) and not given <= FOLDER_OPTIONS


def _peek(arguments: list[str], option: str) -> str | None:
    """Return an option's value; the parser depends on it, so it does not exist yet."""
    for i, argument in enumerate(arguments):
        if argument == option and i + 1 < len(arguments):
            return arguments[i + 1]
        if argument.startswith(f"{option}="):
            return argument.removeprefix(f"{option}=")
    return None


def _display() -> Display:
    from scale.runs import LiveDisplay, PlainDisplay

    screen = console()
    return LiveDisplay(screen) if screen.is_terminal else PlainDisplay(screen)
