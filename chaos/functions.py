"""Wrong arguments for every public function, class and method."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chaos import execute
from chaos.calls import FOUND, NOT_VALID, known, try_all
from chaos.execute import Around
from chaos.fence import NULL, device
from chaos.judge import Case, Finding, Result, cause, without_numbers
from chaos.public import Subject, found, title_of
from chaos.world import World

PART = "functions"


def subjects(world: World) -> list[str]:
    """Return what a whole campaign covers."""
    return [title_of(subject) for subject in found()]


def cases(world: World, rng: random.Random) -> Iterator[Case]:
    """Yield one case of each function: several wrong values for each of its parameters."""
    known(world)
    for subject in found():
        yield _case(world, subject, rng.randrange(2**32))


def _case(world: World, subject: Subject, chosen: int) -> Case:
    def run(folder: Path) -> Result:
        shutil.copytree(world.run, folder / "run")
        shutil.copytree(world.results, folder / "results")
        device(folder / "null-device", NULL)
        outcome = execute.call(
            lambda: try_all(world, subject, chosen), folder, Around(cpu_seconds=60, seconds=180)
        )
        lines = _lines(folder / FOUND)
        tried = [line["tried"] for line in lines if "tried" in line]
        findings = [Finding(*line["finding"]) for line in lines if "finding" in line]
        last = tried[-1] if tried else title_of(subject)
        if outcome.hung:
            findings.append(Finding("hang", last, outcome.err[-2000:]))
        elif outcome.status == NOT_VALID:  # no valid call is known: not covered
            return Result(cases=0)
        elif outcome.status != 0:
            findings.append(Finding("crash", f"{last}: {cause(outcome.err)}", outcome.err[-2000:]))
        return Result(_once(findings), len(tried))

    title = title_of(subject)
    return Case(PART, title, title, run, f"{title}(...)")


def _once(findings: list[Finding]) -> list[Finding]:
    kept = {(one.kind, without_numbers(one.what)): one for one in reversed(findings)}
    return list(kept.values())


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]
