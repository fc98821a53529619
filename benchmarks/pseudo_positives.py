"""Pseudo-positives per view against kappa, mu and the feature space, from forward passes alone.

``python -m benchmarks.pseudo_positives RUN ...`` prints JSON lines for finished runs of a learner
with a memory. There is one line for BatchNorm's statistics, and one for each cell of
{encoder at its start, as trained} x {class-ordered, iid batch} x {z, h} x kappa x mu.
``--table FILE ...`` prints such lines as Markdown. Labels are used to judge the accepted pairs;
no learner sees them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks._acceptance import Cell, Tally, tallies
from benchmarks._batch_norm import compare_statistics
from benchmarks._batches import draw_batches
from benchmarks._cell_tables import KINDS, MEASURES, Line, tables
from scale._errors import InputError, ScaleError
from scale.methods import Replay
from scale.report.names import describe_setting, describe_stream
from scale.runs import RunConfig, load_learner, prepare


def main(arguments: Sequence[str] | None = None) -> int:
    """Print lines for runs, or tables of lines; return 0, or 2 for a user's mistake."""
    args = parse(arguments)
    try:
        if args.table:
            chosen = {name: getattr(args, name) for name in KINDS}
            sys.stdout.write(tables(args.sources, args.measure or MEASURES[0], chosen))
            return 0
        for folder in args.sources:
            for line in measure(folder, args.batches or 10, args.images or 256):
                sys.stdout.write(json.dumps(line) + "\n")
    except ScaleError as error:
        sys.stderr.write(f"benchmarks.pseudo_positives: {error}\n")
        return 2
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options; those for lines and those for tables exclude each other."""
    name, what = "python -m benchmarks.pseudo_positives", "folder of a run, or file of lines"
    parser = argparse.ArgumentParser(prog=name, description=__doc__)
    parser.add_argument("sources", nargs="+", type=Path, metavar="RUN|FILE", help=what)
    lines = parser.add_argument_group("lines of runs")
    lines.add_argument("--batches", type=_positive, metavar="N", help="batches of each kind (10)")
    lines.add_argument("--images", type=_positive, metavar="N", help="images in a batch (256)")
    shown = parser.add_argument_group("tables of lines")
    shown.add_argument("--table", action="store_true", help="print the lines in files as Markdown")
    shown.add_argument("--measure", choices=MEASURES, help=f"what to show ({MEASURES[0]})")
    for name, values in KINDS.items():
        shown.add_argument(f"--{name}", choices=values, help="show only these")
    args = parser.parse_args(arguments)
    for name in ("batches", "images") if args.table else ("measure", *KINDS):
        if getattr(args, name) is not None:
            parser.error(f"--{name} {'does not go with' if args.table else 'needs'} --table")
    return args


def measure(folder: Path, count: int, images: int) -> Iterator[Line]:
    """Yield the lines of a finished run: one for BatchNorm, then one for each cell.

    Parameters
    ----------
    folder
        Folder of the run.
    count
        Batches of each kind; fewer when the stream has fewer of one class.
    images
        Images in a batch; fewer when the smallest class of the stream has fewer.
    """
    config, learner = RunConfig.read(folder), finished_learner(folder)
    setting = prepare(config)
    if setting.evaluator is None or setting.labels is None:
        raise InputError(f"{folder} ran on data without labels; batches of one class need them")
    run = describe(config)
    moved = compare_statistics(learner, finished_learner(folder), setting.evaluator)
    yield {"measured": "batch_norm", **run, **moved}

    states = {"start": start_of(learner), "trained": learner}
    totals: dict[tuple[str, str, Cell], Tally] = defaultdict(Tally)
    sizes = {}
    for batch in draw_batches(learner, setting.stream, setting.labels, count, images):
        sizes = {"n": batch.n, "m": batch.m}
        for state, model in states.items():
            for cell, tally in tallies(model, batch):
                totals[state, batch.kind, cell] += tally
    for (state, kind, (space, kappa, mu)), total in totals.items():
        place = {"state": state, "batch": kind, "space": space, "kappa": kappa, "mu": mu}
        yield {"measured": "pseudo_positives", **run, **sizes, **place, **total.rates()}


def finished_learner(folder: Path) -> Replay:
    """Return the learner of a finished run; it must have a memory to replay."""
    learner = load_learner(folder)
    if not (folder / "summary.json").is_file():
        raise InputError(
            f"the run in {folder} is not finished; go on with it: scale run --out {folder} --resume"
        )
    if not isinstance(learner, Replay):
        raise InputError(f"the run in {folder} is of {learner.name!r}, which replays no images")
    if len(learner.memory_) == 0:
        raise InputError(f"the memory of the run in {folder} is empty; expected images to replay")
    return learner


def start_of(learner: Replay) -> Replay:
    """Return the learner as it was before its first batch."""
    start = type(learner)(**learner.get_params())
    start.start(learner.image_shape_)
    return start


def describe(config: RunConfig) -> Line:
    """Return a run's names for tables; a dataset in a folder has the folder's name."""
    own = Path(config.dataset)
    run = config.to_json() | {"dataset": own.name if own.exists() else config.dataset}
    return {
        "dataset": run["dataset"],
        "stream": describe_stream(run),
        "features": describe_setting(run),
        "seed": config.seed,
    }


def _positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"must be 1 or more, got {text}")
    return number


if __name__ == "__main__":
    sys.exit(main())
