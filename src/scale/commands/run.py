"""The command ``scale run``."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro

from scale._errors import InputError
from scale.commands._terminal import console, keep_freed_memory, say

if TYPE_CHECKING:
    from scale.methods import Learner
    from scale.runs import Display, RunConfig


FOLDER_OPTIONS = {"--out", "--resume", "--checkpoint-seconds", "--pictures", "--no-pictures"}


@dataclass(kw_only=True)
class Folder:
    """Where a run goes and how it is kept."""

    out: Path
    """Folder of the run: config, metrics, checkpoints, learner, summary, pictures."""
    resume: bool = False
    """Go on with the run in that folder; no other option is needed. With its options given, a run
    that has not begun is started: the same command serves until it is finished."""
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
    if "--resume" in arguments and out is not None and not _starts(Path(out), arguments):
        config = RunConfig.read(Path(out))
    dataset = _peek(arguments, "--dataset") or config.dataset
    name = _peek(arguments, "--method") or config.method
    method = METHODS[name]
    preset = _peek(arguments, "--preset")
    if preset is not None and preset not in method.presets:
        known = ", ".join(method.presets) or "none"
        owners = [name for name in METHODS if preset in METHODS[name].presets]
        hint = f"; did you mean --method {owners[0]}?" if owners else ""
        raise InputError(f"{method.name} has no preset {preset!r} (known: {known}){hint}")
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
            _with_params(method, usual, config.params if name == config.method else {}),
        ),
    )
    chosen = parsed.method.get_params()
    chosen.pop("seed")
    return parsed.folder, dataclasses.replace(parsed.run, params=chosen)


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
    )
    if folder.pictures:
        from scale.report import draw_run

        names = ", ".join(path.name for path in draw_run(folder.out))
        say(f"pictures in {folder.out}: {names or 'none, there are no labels'}")
    if summary["collapsed"]:
        say("warning: the features had collapsed at the end of the stream")


def _with_params(method: type[Learner], usual: dict[str, Any], of_run: dict[str, Any]) -> Learner:
    """Return the method with its default parameters, and those of the run that goes on."""
    try:
        return method(**{**usual, **of_run})
    except TypeError as error:
        raise InputError(
            f"the run has a parameter that {method.name} does not know here ({error}); go on with "
            "the version of scale that it began with"
        ) from error


def _starts(out: Path, arguments: list[str]) -> bool:
    """Whether --resume means a run that has not begun: there is nothing yet, and options are given.

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
    """Return an option's value before the parser that depends on it exists."""
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
