"""The command ``scale run``."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from scale._errors import InputError
from scale._files import as_path
from scale.commands._parse import parse, peek
from scale.commands._terminal import console, keep_freed_memory

if TYPE_CHECKING:
    from scale.runs import Display, RunConfig
    from scale.runs.team import Team


FOLDER_OPTIONS = {
    *("--out", "--resume", "--checkpoint-seconds", "--pictures", "--no-pictures", "--log"),
    *("--quiet", "--json"),
}


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
    log: list[str] = field(default_factory=list)
    """Also send metrics, options and pictures to loggers: tensorboard, mlflow, wandb, or one that
    another package adds. A logger that fails does not stop the run."""
    quiet: bool = False
    """Show nothing but errors; the exit status says how the run ended."""
    json: bool = False
    """Write one JSON object per line instead of text, for programs: docs/runs.md lists them."""


def parse_run(arguments: list[str]) -> tuple[Folder, RunConfig]:
    """Return the parsed options; the parser has the parameters of the chosen method."""
    from scale.methods import METHODS
    from scale.runs import RunConfig, parameters
    from scale.runs.config import read_config

    config, kept_options = RunConfig(), dict[str, Any]()
    out, source = peek(arguments, "--out"), peek(arguments, "--from")
    if "--resume" in arguments and out is not None and not _starts(Path(out), arguments):
        config = RunConfig.read(Path(out))
        kept_options = read_config(Path(out)).get("command", {})
    elif source is not None and not {"-h", "--help"} & set(arguments):
        config = _config_from(source, arguments)
    dataset = peek(arguments, "--dataset") or config.dataset
    name = peek(arguments, "--method") or config.method
    method = METHODS[name]
    kept = config.params if config.method == name else {}
    params = parameters(name, dataset, peek(arguments, "--preset"), kept)
    Options = _options()
    Parsed = dataclasses.make_dataclass(
        "Parsed", [("folder", Folder), ("run", Options), ("method", method)]
    )
    parsed = parse(
        Parsed,
        "scale run",
        arguments,
        description="Learn from a stream, with evaluation, checkpoints and pictures.",
        config=(tyro.conf.OmitArgPrefixes, tyro.conf.SuppressFixed),
        default=Parsed(
            _folder(kept_options),
            Options(**{**vars(config), "params": {}}),
            method(**params),
        ),
    )
    if parsed.folder.quiet and parsed.folder.json:
        raise InputError("--quiet shows nothing and --json shows lines; give one of them")
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
    from scale.runs.loggers import Logged

    keep_freed_memory()
    with runs.team(str(config.params.get("device", "cpu"))) as team:
        if team is not None and team.rank > 0:
            team.follow()
            return
        display = Logged(_display(folder), folder.out, folder.log)
        was_finished = (folder.out / "summary.json").is_file()
        try:
            summary = runs.run(
                config,
                folder.out,
                resume=folder.resume,
                checkpoint_seconds=folder.checkpoint_seconds,
                display=display,
                tell_cost=True,
                command=_to_keep(folder, team),
                team=team,
            )
            if was_finished and folder.json:  # a program gets its summary again
                display.finish(summary)
            if folder.pictures:
                from scale.report import draw_run

                display.pictures(draw_run(folder.out))
        finally:
            display.close()


def _to_keep(folder: Folder, team: Team | None) -> dict[str, Any]:
    """Return the options that a resumed run keeps."""
    return {
        **({} if folder.pictures else {"pictures": False}),
        **({"log": folder.log} if folder.log else {}),
        **({} if team is None else {"processes": team.size}),
    }


def _folder(kept: dict[str, Any]) -> Folder:
    """Return the options of a folder with those that its run keeps, for the parser's defaults."""
    log = kept.get("log")
    return Folder(
        out=tyro.MISSING,
        pictures=kept.get("pictures", True) is not False,
        log=[str(name) for name in log] if isinstance(log, list) else [],
    )


def _config_from(source: str, arguments: list[str]) -> RunConfig:
    """Return the config of a run that goes on from a learner, for the parser's defaults."""
    from scale.runs import config_from

    if peek(arguments, "--dataset") is None:
        raise InputError("--from needs --dataset: the images to learn from now")
    as_path("--from", source)
    return config_from(source, peek(arguments, "--method"), **_of_run(Path(source)))


def _of_run(source: Path) -> dict[str, Any]:
    """Return the options that a run passes on to one that goes on from it."""
    from scale.runs import RunConfig
    from scale.runs.config import CONFIG

    if not (source / CONFIG).is_file():
        return {}
    config = RunConfig.read(source)
    return {"stream": config.stream, "image_size": config.image_size}


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


def _display(folder: Folder) -> Display:
    from scale._output import News
    from scale.runs import Display, JsonDisplay, LiveDisplay, PlainDisplay

    if folder.quiet:
        return Display()
    if folder.json:
        return JsonDisplay(News(), folder.out)
    screen = console()
    if screen.is_interactive and screen.file.isatty():  # and not a log with FORCE_COLOR
        return LiveDisplay(screen, folder.out)
    return PlainDisplay(screen, folder=folder.out)
