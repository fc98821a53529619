"""Arguments that each command accepts, from its parser and the templates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from chaos.parser import Option, commands, options
from chaos.world import LIVE, World

Words = tuple[str, ...]

FRESH = {
    "run": "run",
    "bench": "bench",
    "embed": "z.npy",
    "plot": "f.png",
    "streams": "s.png",
    "results": "R.md",
    "watch": "watched",
    "export": "m.onnx",
    "report": "p.html",
    "pull": "pulled",
}
"""What a command writes when the case does not say."""
WAITS = ("serve",)
"""Commands that end only when they are stopped."""


def every(world: World) -> dict[str, list[str]]:
    """Return a call of each command that is accepted, by the command's name."""
    return {" ".join(words): [*words, *base(words, None, world)] for words in commands()}


def base(
    words: Words,
    method: str | None,
    world: World,
    without: Iterable[str] = (),
    places: Mapping[str, str] | None = None,
) -> list[str]:
    """Return arguments that the command accepts, without the options named in `without`.

    `places` has other texts for positional arguments.
    """
    places = places or {}
    if words in (("run",), ("watch",)):
        return [*places.values(), *_of_two_steps(words[0], method, world, {*without, *places})]
    positional, named = [], []
    for option in options():
        if option.command != words or (option.flags and option.name in without):
            continue
        value = places.get(option.name, _valid(option, world))
        if value is not None and option.flags:
            named += [option.flags[0], value]
        elif value is not None:
            positional.append(value)
    return [*positional, *named]


def _of_two_steps(name: str, method: str | None, world: World, without: set[str]) -> list[str]:
    """Return arguments of a command that also takes the parameters of a method."""
    if name == "run":
        pairs, flag, positional = _pairs(world.quick(method or "er")), "--no-pictures", []
    else:
        pairs, flag, positional = _pairs(world.watching()), "--once", [str(world.photos)]
    pairs.append(("--out", FRESH[name]))
    kept = [pair for pair in pairs if pair[0][2:].replace("-", "_") not in without]
    flags = [] if flag.removeprefix("--no-").removeprefix("--") in without else [flag]
    given = [] if "sources" in without else positional
    return [*given, *(one for pair in kept for one in pair), *flags]


def _valid(option: Option, world: World) -> str | None:
    """Return a value that the command accepts; None leaves the option out."""
    from scale.cli import LIVE as live_commands

    command = option.command[0]
    if option.name == "out" and (command in FRESH or option.required):
        return FRESH.get(command, "made")
    live = command in live_commands
    fit: dict[str, str | None] = {
        "run": str(world.run),
        "runs": str(world.run),
        "image": "1",
        "images": "1" if live else str(world.photos),
        "sources": str(world.bench),
        "experiment": str(world.experiment) if command == "bench" else None,
        "folder": LIVE if live else str(world.results),
        "dataset": str(world.npz) if command == "streams" else None,
        "engine": "in-process" if command == "bench" else None,
    }
    if option.name == "name" and option.required:
        return {"push": "./pushed", "pull": str(world.pushed), "data": "owner/shards"}.get(
            command, "x"
        )
    if option.name in fit:
        return fit[option.name]
    if not option.required:
        return None
    kinds = {
        "int": "1",
        "float": "1.0",
        "path": str(world.run),
        "choice": "".join(option.choices[:1]),
    }
    return kinds.get(option.kind, "x")


def _pairs(arguments: list[str]) -> list[tuple[str, str]]:
    return list(zip(arguments[::2], arguments[1::2], strict=True))
