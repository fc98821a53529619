"""How much kNN depends on the choice of classes and of labelled images.

``python -m benchmarks.label_choice RUN ...`` takes finished runs on labelled data. It draws classes
and a few labelled images of each, many times, and measures kNN on the test images of these classes.
It does so for the learner and for its random start. It prints JSON lines; ``--table FILE ...``
prints such lines as Markdown.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.pseudo_positives import describe, finished_learner, start_of
from scale._errors import InputError, ScaleError
from scale._markdown import markdown
from scale.evaluate import EvaluationSets, knn_accuracy
from scale.report import read_records
from scale.runs import RunConfig, prepare

BANKS = 5  # for each choice of classes
TITLES = {
    "mean": "mean kNN",
    "sd_classes": "sd over classes",
    "sd_labels": "sd over labels",
    "least": "least",
    "greatest": "greatest",
}


@dataclass(frozen=True)
class Choice:
    """Number of classes, labelled images of each, neighbours that vote, and draws of classes."""

    classes: int = 10
    labels: int = 10
    k: int = 50
    draws: int = 200


def main(arguments: Sequence[str] | None = None) -> int:
    """Print lines for runs, or a table of lines; return 0, or 2 for a user's mistake."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.label_choice", description=__doc__)
    what = "folder of a run, or file of lines"
    parser.add_argument("sources", nargs="+", type=Path, metavar="RUN|FILE", help=what)
    parser.add_argument("--table", action="store_true", help="print the lines in files as Markdown")
    for name, value in asdict(Choice()).items():
        parser.add_argument(f"--{name}", type=int, default=value, metavar="N")
    args = parser.parse_args(arguments)
    choice = Choice(args.classes, args.labels, args.k, args.draws)
    try:
        if args.table:
            sys.stdout.write(table(read_records(args.sources)))
            return 0
        for folder in args.sources:
            for line in measure(folder, choice):
                sys.stdout.write(json.dumps(line) + "\n")
    except ScaleError as error:
        sys.stderr.write(f"benchmarks.label_choice: {error}\n")
        return 2
    return 0


def measure(folder: Path, choice: Choice) -> Iterator[dict[str, Any]]:
    """Yield one line for a run's learner and one for its random start."""
    if min(asdict(choice).values()) < 1:
        raise InputError(f"classes, labels, k and draws must be 1 or more, got {choice}")
    config = RunConfig.read(folder)
    evaluator = prepare(config).evaluator
    if evaluator is None:
        raise InputError(f"{folder} ran on data without labels; kNN needs them")
    sets, learner = evaluator.sets, finished_learner(folder)
    for name, model in (("", learner), ("random start", start_of(learner))):
        queries, bank = (
            evaluator.embed(model.transform, images)
            for images in (sets.eval_images, sets.train_images)
        )
        run = describe(config)
        run["features"] = name or run["features"]
        figures = spread(draw(queries, bank, sets, choice, config.seed))
        if choice.classes == len(sets.classes):
            figures["sd_classes"] = None  # every draw has all classes
        yield {**run, **asdict(choice), **figures}


def draw(
    queries: NDArray[np.float32],
    bank: NDArray[np.float32],
    sets: EvaluationSets,
    choice: Choice,
    seed: int,
) -> NDArray[np.float64]:
    """Return kNN in percent for each choice of classes and of labelled images, ``(draws, BANKS)``.

    Parameters
    ----------
    queries, bank
        Features of the evaluation images and of all train images.
    sets
        Their labels.
    choice
        Sizes of the draws.
    seed
        Seed of the draws.
    """
    if choice.classes > len(sets.classes):
        raise InputError(f"expected --classes of at most {len(sets.classes)}, got {choice.classes}")
    rng = np.random.default_rng(seed)
    of_class = {label: np.flatnonzero(sets.train_labels == label) for label in sets.classes}
    if choice.labels > (fewest := min(map(len, of_class.values()))):
        raise InputError(f"expected --labels of at most {fewest}, got {choice.labels}")
    series = np.empty((choice.draws, BANKS))
    for found in series:
        chosen = rng.choice(sets.classes, choice.classes, replace=False)
        asked = np.isin(sets.eval_labels, chosen)
        for i in range(BANKS):
            banked = np.concatenate(
                [rng.choice(of_class[c], choice.labels, replace=False) for c in chosen]
            )
            found[i] = 100 * knn_accuracy(
                bank[banked],
                sets.train_labels[banked],
                queries[asked],
                sets.eval_labels[asked],
                k=choice.k,
            )
    return series


def spread(series: NDArray[np.float64]) -> dict[str, float | None]:
    """Return the mean, the standard deviation due to either choice, the least and the greatest.

    Examples
    --------
    >>> spread(np.array([[10.0, 12.0], [20.0, 22.0]]))["sd_labels"]
    1.4142
    """
    within = series.var(axis=1, ddof=1).mean()
    # The mean over banks contains a share of their variance, which is subtracted.
    between = series.mean(axis=1).var(ddof=1) - within / series.shape[1] if len(series) > 1 else 0.0
    figures = {
        "mean": series.mean(),
        "sd_classes": max(between, 0.0) ** 0.5,
        "sd_labels": within**0.5,
        "least": series.min(),
        "greatest": series.max(),
    }
    return {name: round(float(value), 4) for name, value in figures.items()}


def table(lines: Sequence[dict[str, Any]]) -> str:
    """Return saved lines as Markdown: a table for each choice of labels, with what it is above."""
    asked = list(asdict(Choice()))
    tables: dict[str, list[list[str]]] = {}
    try:
        for line in lines:
            what = ", ".join(f"{name} {line[name]}" for name in (*asked, "seed"))
            where = f"{line['dataset']} {line['stream']}"
            values = [_cell(line[name]) for name in TITLES]
            tables.setdefault(what, []).append([where, str(line["features"]), *values])
    except (KeyError, TypeError, ValueError) as error:
        message = f"a line is not one that benchmarks.label_choice prints ({error!r})"
        raise InputError(message) from error
    titles = ["where", "features", *TITLES.values()]
    return "\n".join(f"{what}:\n\n{markdown(titles, rows)}" for what, rows in tables.items())


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


if __name__ == "__main__":
    sys.exit(main())
