"""The command ``scale watch``."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import tyro

from scale._errors import InputError, ScaleError, UnwritableError
from scale._text import shell_line
from scale.commands._parse import HELP_OPTIONS, parse, peek
from scale.commands._terminal import keep_freed_memory, say

if TYPE_CHECKING:
    from scale.live import WatchConfig, Watcher
    from scale.methods import Learner

STOPPING = "finishing this batch, then saving"
NEWS_SECONDS = 10.0
PORT, ADDRESS = "8765", r"[^/\s]*:[^/\s]*|\d\S*"


@dataclass(kw_only=True)
class Place:
    """What is watched, and where it is kept."""

    sources: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE")] = ()
    """Folders that receive images, video files, streams (rtsp://..., http://...), cameras
    (/dev/video0); several at once. Video files come one after the other. Default: the sources of
    the last time."""
    out: Path
    """Folder of the live learner: store, thumbnails, checkpoints. The same command goes on."""
    preset: str | None = None
    """Named set of parameters, for example paper. scale methods NAME lists those of a method."""
    once: bool = False
    """End after what the folders hold, instead of waiting for more."""
    webhook: Annotated[str | None, tyro.conf.arg(metavar="URL")] = None
    """Post each event, something new that stays, to this URL as JSON."""
    mqtt: Annotated[str | None, tyro.conf.arg(metavar="HOST[:PORT]/TOPIC")] = None
    """Publish each event to this topic as JSON."""
    on_event: Annotated[str | None, tyro.conf.arg(metavar="COMMAND")] = None
    """Run this command for each event, with the event as JSON on its standard input. It is split
    into arguments; no shell runs it."""
    serve: Annotated[str | None, tyro.conf.arg(metavar="[[HOST:]PORT]")] = None
    """Show a page: what comes, groups to name, search, events. Default: this machine only, port
    8765. With another host, for example 0.0.0.0:8765, the page asks for a token."""


class WatchInterrupted(ScaleError):
    """The user stopped the watcher; its state is saved."""

    exit_status = 130

    def __init__(self, out: Path) -> None:
        again = shell_line(["scale", "watch", "--out", str(out)])
        super().__init__(f"stopped and saved; go on with the same command, or: {again}")


def parse_watch(arguments: list[str]) -> tuple[Place, WatchConfig]:
    """Return the parsed options; the parser has the parameters of the chosen method."""
    from scale.live import WatchConfig, live_parameters, read_watch
    from scale.live.config import WATCH
    from scale.methods import METHODS

    arguments = with_port(arguments)
    config, sources = WatchConfig(), ()
    out = peek(arguments, "--out")
    if out is not None and (Path(out) / WATCH).exists() and not HELP_OPTIONS & set(arguments):
        config, kept = read_watch(Path(out))
        sources = tuple(kept["sources"])
    name = peek(arguments, "--method") or config.method
    given = config.params if config.method == name else {}
    params = live_parameters(name, given, peek(arguments, "--preset"))
    Options = _options()  # once: each call makes another class
    Method = _apart(METHODS[name], Place, Options)
    Parsed = dataclasses.make_dataclass(
        "Parsed", [("place", Place), ("watch", Options), ("method", Method)]
    )
    parsed = parse(
        Parsed,
        "scale watch",
        arguments,
        description="Keep learning from images that keep coming. Ctrl-C saves; the same command "
        "goes on.",
        config=(tyro.conf.OmitArgPrefixes, tyro.conf.SuppressFixed),
        default=Parsed(
            Place(out=tyro.MISSING),
            Options(**{**vars(config), "params": {}}),
            Method(**params),
        ),
    )
    parsed.place.sources = parsed.place.sources or sources
    if not parsed.place.sources:
        raise InputError(
            "say what to watch: scale watch SOURCE --out DIR, where SOURCE is a folder, a video "
            "file, a stream or a camera"
        )
    chosen = parsed.method.get_params()
    chosen.pop("seed")
    return parsed.place, WatchConfig(**{**vars(parsed.watch), "params": chosen})


def with_port(arguments: list[str]) -> list[str]:
    """Return the arguments with the usual port after ``--serve``, if it has none.

    Examples
    --------
    >>> with_port(["--serve", "--out", "x"]), with_port(["--serve", "[::]:80"])
    (['--serve', '8765', '--out', 'x'], ['--serve', '[::]:80'])
    """
    found: list[str] = []
    for one, after in itertools.pairwise([*arguments, ""]):
        alone = one == "--serve" and re.fullmatch(ADDRESS, after) is None
        found += [one, PORT] if alone else [one]
    return found


def _apart(method: type[Learner], *others: type) -> type[Learner]:
    """Return a method whose parameters with the name of another option are ``--method-NAME``."""
    taken = {field.name for other in others for field in dataclasses.fields(other)} - {"seed"}
    hints = get_type_hints(method, include_extras=True)
    shared = [
        (
            field.name,
            Annotated[
                hints[field.name],
                tyro.conf.arg(
                    name=f"method-{field.name}",
                    help=f"The parameter {field.name} of the method; scale methods explains it.",
                ),
            ],
            dataclasses.field(default=field.default),
        )
        for field in dataclasses.fields(method)
        if field.name in taken
    ]
    if not shared:
        return method
    return dataclasses.make_dataclass(method.__name__, shared, bases=(method,), kw_only=True)


def _options() -> type[WatchConfig]:
    """Return `WatchConfig` with help that lists the registered methods."""
    from scale.live import WatchConfig
    from scale.methods import METHODS

    text = f"{', '.join(METHODS)}; or a file of your own (path.py, path.py:Class). The parameters "
    hint = Annotated[str, tyro.conf.arg(help=f"{text}of the chosen one are options too.")]
    fields = [("method", hint, WatchConfig.method)]
    return dataclasses.make_dataclass("Options", fields, bases=(WatchConfig,), kw_only=True)


def watch(place: Place, config: WatchConfig) -> None:
    """Watch until the sources end or the user stops it.

    Parameters
    ----------
    place
        Sources and folder.
    config
        Options of the live learner.
    """
    from scale.live import AlertOptions, Knowledge, Watcher
    from scale.live.serving import parse_address, serving
    from scale.runs.interrupt import Interrupts

    alerts = AlertOptions(place.webhook, place.mqtt, place.on_event)
    alerts.check()
    if place.serve is not None:
        parse_address(place.serve)  # before anything is made

    keep_freed_memory()
    with Interrupts(say, STOPPING) as interrupts, contextlib.ExitStack() as held:
        watcher = Watcher(place.out, place.sources, config=config, once=place.once, tell=say)
        held.callback(watcher.close)
        watcher.observers.append(_news(watcher))
        knowledge = Knowledge(watcher.store, watcher.learner, alerts=alerts, tell=say)
        watcher.observers.append(knowledge)
        if place.serve is not None:
            page = held.enter_context(serving(place.serve, knowledge, watcher))
            say(f"the page is at {page}")
        size, seen = watcher.config.image_size, watcher.learner.step_
        names = ", ".join(reader.name for reader in watcher.crew.readers)
        say(
            f"watching {names}: images become {size} x {size}, batches of {config.batch_size}; "
            f"{seen} batches learned so far"
        )
        finished = watcher.run(lambda: interrupts.requested)
        status = watcher.status()
    if not watcher.saved:
        raise UnwritableError(
            f"the learner is not saved in {place.out}; free some space, then give the same command "
            "again: it goes on without a loss"
        )
    if not finished:
        raise WatchInterrupted(place.out)
    say(_line(status))
    say(f"all that was there is learned; the learner is saved in {place.out}")


def _news(watcher: Watcher) -> Any:
    """Return an observer that says every few seconds how it goes."""
    from scale.live import Observer

    class News(Observer):
        last = time.monotonic()
        step = watcher.learner.step_

        def after_batch(self, step: int, *_: object) -> None:
            if time.monotonic() - self.last >= NEWS_SECONDS:
                self.last = time.monotonic()
                say(_line(watcher.status()))

    return News()


def _line(status: dict[str, Any]) -> str:
    """Return how it goes on one line."""
    rates, queue = status["images_per_second"], status["queue"]
    parts = [
        f"images {status['images']}",
        f"batches {status['step']}",
        f"in {rates['in']:.1f}/s",
        f"learned {rates['learned']:.1f}/s",
        f"waiting {queue['waiting']}",
        f"updates {status['updates']['now']}",
    ]
    if status["loss"] is not None:
        parts.append(f"loss {status['loss']:.2f}")
    if status["skipped"]:
        said = ", ".join(f"{reason} {count}" for reason, count in status["skipped"].items())
        parts.append(f"skipped: {said}")
    if status["dropped"]:
        parts.append(f"dropped {status['dropped']}")
    return "  ".join(parts)
