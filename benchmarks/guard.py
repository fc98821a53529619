"""How well `scale.guard`, which sees no labels, agrees with kNN over finished runs.

``python -m benchmarks.guard RUN|FILE ...`` reads folders of runs and files of records. It prints
a Markdown table with a row for each dataset, for scale-plus and for all runs: the correlation of
(score - start's score) with (kNN - random start's kNN), how often "better than its start" is
right, and how many runs below their start are not called better.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import pearsonr, spearmanr

from scale._errors import ScaleError
from scale._markdown import markdown
from scale.bench import Record, read_records
from scale.bench.records import run_key

Gain = tuple[float, float, bool]
"""Gain in view retrieval, gain in kNN, and whether the guard says "better"."""
TITLES = (
    *("runs", "how many", "Spearman", "Pearson", '"better" is right'),
    *("below their start", "of these not called better"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 0, or 2 for the user's mistake."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description=__doc__)
    what = "folder of a run, or file of records"
    parser.add_argument("sources", nargs="+", type=Path, metavar="RUN|FILE", help=what)
    try:
        records = read_records(parser.parse_args(arguments).sources)
        sys.stdout.write(table(records))
    except ScaleError as error:
        sys.stderr.write(f"benchmarks.guard: {error}\n")
        return 2
    return 0


def table(records: Sequence[Record]) -> str:
    """Return the agreement for each dataset, for scale-plus and for all runs, as Markdown.

    Each run counts once. Runs without a guard or without kNN are left out.
    """
    once = {run_key(record): record for record in records if "summary" in record}
    groups: dict[str, list[Gain]] = defaultdict(list)
    everything: list[Gain] = []
    for record in once.values():
        if (found := gain(record)) is None:
            continue
        everything.append(found)
        groups[record["run"]["dataset"]].append(found)
        if record["run"]["method"] == "scale-plus":
            groups["scale-plus, all datasets"].append(found)
    named = [
        *sorted(groups.items(), key=lambda item: ("," in item[0], item[0])),
        ("all", everything),
    ]
    return markdown(TITLES, [[name, *agreement(gains)] for name, gains in named])


def gain(record: Record) -> Gain | None:
    """Return both gains of a finished run over its random start, or None if one is missing."""
    summary = record["summary"]
    if "guard" not in summary or "knn" not in summary:
        return None
    verdict = summary["guard"]
    in_knn = summary["knn"] - summary["floors"]["random"]["knn"]
    return verdict["score"] - verdict["start_score"], in_knn, verdict["better"]


def agreement(gains: Sequence[Gain]) -> list[str]:
    """Return how well the guard predicts kNN, as the cells of a row."""
    predicted, true = (np.array([gain[i] for gain in gains]) for i in (0, 1))
    called = np.array([better for _, _, better in gains], dtype=bool)
    correlations = ["", ""]  # undefined for two runs, and for equal gains
    if len(gains) > 2 and np.ptp(predicted) > 0 and np.ptp(true) > 0:
        correlations = [f"{kind(predicted, true).statistic:.2f}" for kind in (spearmanr, pearsonr)]
    worse = true < 0
    counts = [(called == (true > 0)).sum(), worse.sum(), (worse & ~called).sum()]
    return [str(len(gains)), *correlations, *map(str, counts)]


if __name__ == "__main__":
    sys.exit(main())
