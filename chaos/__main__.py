"""Try to break the program: ``python -m chaos [--cases N] [--kills N] [--only PART ...]``."""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: forks need one thread

import argparse
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import ModuleType

from rich.console import Console

from chaos import record
from chaos.judge import Case, Finding, Result
from chaos.record import PARTS
from chaos.report import Campaign, markdown, show, write
from chaos.world import World, scratch, world

SHARES = {"options": 0.5, "files": 0.5}
"""How the generated cases are divided."""
WHOLE = {"functions": 8, "kills": 0, "disk": 8, "surroundings": 5, "threads": 3}
"""Parts with as many cases as they have (kills: --kills), and how many of them are in --short."""
EVERY = 50
MOST = 20_000
"""Cases among which one is searched by its name."""
STOPPED = 128 + signal.SIGTERM
_stopped: list[int] = []


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; return 1 when there are failures."""
    args = _parser().parse_args(arguments)
    if args.table is not None:
        sys.stdout.write(record.table(args.table))
        return 0
    signal.signal(signal.SIGTERM, _stop)  # so that nothing stays behind
    if args.short:
        args.cases, args.kills = min(args.cases or 60, 60), min(args.kills, 6)
    console = Console()
    campaign, begin = Campaign(args.seed, short=args.short), time.monotonic()
    code = record.code_here()
    with world(args.seed, short=args.short) as made:
        console.print(f"templates made in {time.monotonic() - begin:.0f} s", highlight=False)
        for part in args.only or PARTS:
            module = import_module(f"chaos.{part}")
            if hasattr(module, "subjects"):
                campaign.wanted[part] = module.subjects(made)
            whole = False
            try:
                for number, case in enumerate(_chosen(module, made, args), 1):
                    if _stopped:
                        sys.exit(STOPPED)
                    _try(case, made, campaign, console, verbose=args.case is not None)
                    campaign.seconds = time.monotonic() - begin
                    if number % EVERY == 0:
                        _keep(campaign, args)
                        console.print(f"{part}: {number} cases, {campaign.seconds:.0f} s")
                whole = True
            finally:  # a part that is stopped is kept too
                _keep(campaign, args)
                if args.json is not None and args.case is None:
                    record.append(campaign, part, args.json, code, whole=whole)
            console.print(f"{part}: {dict(campaign.parts[part])}", highlight=False)
    show(campaign, console)
    return 1 if campaign.failed else 0


def _stop(number: int, frame: object) -> None:
    """Leave; Python ignores that while it forks, so the signal is noted, too."""
    _stopped.append(number)
    sys.exit(STOPPED)


def _keep(campaign: Campaign, args: argparse.Namespace) -> None:
    """Write what is known so far, so that a stopped campaign leaves it."""
    if args.out is not None:
        write(campaign, args.out)
    if args.defects is not None:
        args.defects.write_text(markdown(campaign))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    parser.add_argument("--cases", type=int, help="bad inputs; default: all options and files")
    parser.add_argument("--kills", type=int, default=200, help="kills of runs and benches")
    parser.add_argument("--seed", type=int, default=0, help="another seed tries other cases")
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--short", action="store_true", help="about a minute: some of everything")
    parser.add_argument("--case", help="only the case of this name, with its output")
    parser.add_argument("--out", type=Path, help="write the counts and the defects as JSON")
    parser.add_argument("--json", type=Path, help="append a line with the counts of each part")
    parser.add_argument("--table", type=Path, metavar="PATH", help="print what --json PATH saved")
    parser.add_argument("--defects", type=Path, help="write the defects as Markdown")
    return parser


def _chosen(module: ModuleType, made: World, args: argparse.Namespace) -> Iterator[Case]:
    name = module.__name__.removeprefix("chaos.")
    rng = random.Random(f"{args.seed} {name}")
    if args.case is not None:
        tried = islice(module.cases(made, rng), MOST)
        return islice((case for case in tried if case.name == args.case), 1)
    if name in SHARES:
        count = module.enough(made) if args.cases is None else round(args.cases * SHARES[name])
        return islice(module.cases(made, rng), count)
    if name == "kills":
        return islice(module.cases(made, rng), args.kills)
    every: list[Case] = list(module.cases(made, rng))
    return iter(rng.sample(every, WHOLE[name]) if args.short else every)


def _try(case: Case, made: World, campaign: Campaign, console: Console, *, verbose: bool) -> None:
    with scratch(made.cases) as folder:
        try:
            result = case.run(folder)
        except Exception as error:  # a broken case must not end the campaign
            result = Result([Finding("broken", f"{type(error).__name__}: {error}")])
    if made.outside.exists():
        tried = made.outside.read_text(errors="replace")
        result.findings.append(Finding("outside", tried.splitlines()[0], tried))
        made.outside.unlink()
    campaign.add(case, result)
    for finding in result.findings:
        line = f"{case.part}: {finding.kind}: {case.name}: {finding.what}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)
        if verbose:
            console.print(case.command, markup=False, highlight=False, soft_wrap=True)
            console.print(finding.detail, markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main())
