"""How far `scale.guard`, which sees no labels, agrees with kNN over finished runs.

``python -m benchmarks.guard RUN ...`` prints one line of JSON: for each dataset, and for all runs
together, the correlations of (score - start's score) with (kNN - random start's kNN), how often
"better than its start" is right, and how many runs below their start were not called better.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scipy.stats import pearsonr, spearmanr

from scale.evaluate import guard
from scale.runs import load_learner

Gain = tuple[float, float, bool]
"""What was gained in view retrieval and in kNN, and whether the guard says "better"."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures over the given runs; those without memory or labels are only counted."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folder of a run")
    by_dataset: dict[str, list[Gain]] = {}
    skipped = 0
    for folder in parser.parse_args(arguments).runs:
        summary = json.loads((folder / "summary.json").read_text())
        found = gain(folder, summary)
        if found is None:
            skipped += 1
        else:
            by_dataset.setdefault(summary["dataset"], []).append(found)
    figures = {name: agreement(gains) for name, gains in sorted(by_dataset.items())}
    figures["all"] = agreement([found for gains in by_dataset.values() for found in gains])
    sys.stdout.write(json.dumps({**figures, "skipped": skipped}) + "\n")


def gain(folder: Path, summary: dict[str, Any]) -> Gain | None:
    """Return both gains of a finished run over its random start."""
    estimate = guard(load_learner(folder))
    if estimate is None or "knn" not in summary:
        return None
    truly = summary["knn"] - summary["floors"]["random"]["knn"]
    return estimate.score - estimate.start_score, truly, estimate.better


def agreement(gains: list[Gain]) -> dict[str, float | int | None]:
    """Return how well the guard foretells kNN."""
    worse = [better for _, true, better in gains if true < 0]
    enough = len(gains) > 2
    told, true, _ = zip(*gains, strict=True) if gains else ((), (), ())
    return {
        "runs": len(gains),
        "spearman": round(float(spearmanr(told, true).statistic), 3) if enough else None,
        "pearson": round(float(pearsonr(told, true).statistic), 3) if enough else None,
        "better_right": sum(better == (true > 0) for _, true, better in gains),
        "worse_than_start": len(worse),
        "worse_and_not_called_better": len(worse) - sum(worse),
    }


if __name__ == "__main__":
    main()
