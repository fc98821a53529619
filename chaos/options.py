"""Bad values for every option of every command."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from chaos import execute
from chaos.bases import WAITS, base
from chaos.fence import FULL, device
from chaos.judge import Case, Finding, Result, judge, shell
from chaos.parser import Option, commands, options
from chaos.values import OPEN, WRONG, Value, values
from chaos.world import World

PART = "options"
FEW = 8
"""Cases of commands as a whole in a short campaign."""
MORE = 150
"""Cases beyond one of each command and option in a whole campaign."""


def enough(world: World) -> int:
    """Return the number of cases of a whole campaign: each option has one."""
    return len(list(_of_commands(world))) + len(options()) + MORE


def cases(world: World, rng: random.Random) -> Iterator[Case]:
    """Yield a case of each option, then a second of each, and so on; then cases of two options."""
    every = list(options())
    rng.shuffle(every)
    queues = [(option, _shuffled(option, rng)) for option in every]
    whole = list(_of_commands(world))
    yield from rng.sample(whole, FEW) if world.short else whole
    while queues:
        for option, queue in queues:
            how, text, wrong = queue.pop(0)
            yield _case(world, [(option, how, text)], wrong)
        queues = [one for one in queues if one[1]]
    groups: dict[tuple[object, ...], list[Option]] = {}
    for option in every:
        groups.setdefault((option.command, option.method), []).append(option)
    for _ in range(10_000):
        group = rng.choice([one for one in groups.values() if len(one) > 1])
        pair = rng.sample(group, 2)
        given = [(option, *rng.choice(_attempts(option))) for option in pair]
        wrong = any(one[3] for one in given)
        yield _case(world, [one[:3] for one in given], wrong)


def subjects(world: World) -> list[str]:
    """Return what a whole campaign covers."""
    return [option.subject for option in options()]


def _shuffled(option: Option, rng: random.Random) -> list[tuple[str, str, bool]]:
    """Return the attempts in a random order, one that must be refused first: that is quick."""
    attempts = _attempts(option)
    rng.shuffle(attempts)
    attempts.sort(key=lambda one: not one[2])
    rest = attempts[1:]
    rng.shuffle(rest)
    return [*attempts[:1], *rest]


def _attempts(option: Option) -> list[tuple[str, str, bool]]:
    """Return (how it is written, the text, whether it must be refused)."""
    found = [("value", text, wrong) for text, wrong in values(option)]
    if option.kind == "flag":
        return [("flag=x", "x", WRONG), ("twice", "", OPEN), ("both", "", OPEN)]
    if option.flags:
        found += [("=", text, wrong) for text, wrong in values(option) if text]
        found.append(("twice", next(values(option))[0], OPEN))
        if not option.many:
            found.append(("missing", "", WRONG))
    return found


def _of_commands(world: World) -> Iterator[Case]:
    """Yield cases of each command as a whole: unknown options, too many words, none at all."""
    for words in commands():
        valid = base(words, None, world)
        tries: list[tuple[list[str], bool]] = [
            ([*valid, "--no-such-option", "1"], WRONG),
            ([*valid, "--no-such-option"], WRONG),
            ([*valid, "extra", "words"], OPEN),
            ([*valid, "-x"], WRONG),
            ([], OPEN),
            (["--help"], OPEN),
        ]
        for number, (rest, wrong) in enumerate(tries):
            name = f"{' '.join(words)} as a whole {number}"
            yield _made(world, name, " ".join(words), [*words, *rest], wrong)
    for number, rest in enumerate((["no-such"], ["--x"], [""], ["run\x1b[31m"], ["data", "x"])):
        yield _made(world, f"scale {number}", "scale", rest, WRONG)


def _case(world: World, given: list[tuple[Option, str, str]], wrong: bool) -> Case:
    first = given[0][0]
    replaced = {option.name for option, _, _ in given}
    places = {option.name: text for option, _, text in given if not option.flags}
    arguments = base(first.command, first.method, world, replaced, places)
    for option, how, text in given:
        arguments = _with(arguments, option, how, text) if option.flags else arguments
    written = " ".join(f"{option.subject} {how} {text[:60]!r}" for option, how, text in given)
    return _made(world, written, first.subject, [*first.command, *arguments], wrong)


def _with(arguments: list[str], option: Option, how: str, text: str) -> list[str]:
    """Return arguments with the option written in one of several ways."""
    flag = option.flags[0]
    match how:
        case "missing":
            return [*arguments, flag]
        case "flag=x":
            return [*arguments, f"{flag}=x"]
        case "both":
            return [*arguments, flag, option.flags[-1]]
        case "twice":
            again = [flag] if option.kind == "flag" else [flag, text]
            return [*arguments, *again, *again]
        case "=":
            return [*arguments, f"{flag}={text}"]
    return [*arguments, flag, text]


def _made(world: World, name: str, subject: str, arguments: list[str], wrong: bool) -> Case:
    def run(folder: Path) -> Result:
        shutil.copy(world.root / "own.py", folder / "own.py")
        world.copy_live(arguments, folder)
        device(folder / "full-device", FULL)
        (folder / "link-to-full").symlink_to("full-device")
        before = world.state()
        outcome = execute.command(arguments, folder, execute.stopping(arguments[:1], WAITS))
        found = judge(outcome, folder, must_refuse=wrong)
        if world.state() != before:
            changed = sorted(dict(world.state().items() ^ before.items()))
            found.append(Finding("loss", f"{arguments[0]} changed its input", ", ".join(changed)))
        return Result(found)

    return Case(PART, name, subject, run, shell(arguments))


__all__ = ["PART", "Value", "cases", "subjects"]
