"""the evaluations of a run on digits, class by class, at the defaults; the memory of kNN."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import Row, processor_time, row
from benchmarks.peak_memory import peak
from scale.evaluate import Evaluator, Protocol
from scale.evaluate.protocol import EvaluationSets
from scale.runs import Display, RunConfig, run

TRAIN, ASKED, CLASSES = 50_000, 5000, 10  # CIFAR-10's
FEATURES = 1600  # of patches: four for each of 400 centroids


class Timed(Display):
    """Counts the seconds from each batch's record to the evaluation that follows."""

    def __init__(self) -> None:
        self.spent = 0.0
        self._batch = processor_time()

    def batch(self, record: dict[str, Any]) -> None:
        self._batch = processor_time()

    def evaluation(self, record: dict[str, Any]) -> None:
        if record["position"] > 0:  # that of the start is no part of the stream
            self.spent += processor_time() - self._batch


def main(quick: bool = False) -> list[Row]:
    """Make a run, then measure kNN in a new process."""
    return [share(quick), memory(quick)]


def share(quick: bool) -> Row:
    """Return the row of a run's evaluations."""
    options = {"samples_per_class": 20, "evaluations": 1} if quick else {}
    shown, begun = Timed(), processor_time()
    with tempfile.TemporaryDirectory() as folder:
        config = RunConfig(dataset="digits", stream="seq", **options)  # type: ignore[arg-type]
        run(config, Path(folder) / "run", display=shown)
    whole = processor_time() - begun
    count = config.evaluations
    return row(f"evaluations of a run, {count}", shown.spent * 1e3, ("the run", whole * 1e3))


def memory(quick: bool) -> Row:
    """Return the row of kNN with every image of the train split in the bank."""
    train, asked = (500, 50) if quick else (TRAIN, ASKED)
    command = [sys.executable, "-m", "benchmarks.evaluation", str(train), str(asked)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return row(
        f"memory of kNN, bank of {train:,}, {asked:,} asked, {FEATURES} features",
        float(json.loads(done.stdout)),
        ("the bank's features", 4 * train * FEATURES / 1e6),
        unit="MB",
    )


def child(train: int, asked: int) -> float:
    """Return the peak memory of kNN with a full bank in this process, in MB."""
    rng = np.random.default_rng(0)
    images = np.zeros((train, 1, 1, 1), np.uint8)
    labels = np.arange(train) % CLASSES
    sets = EvaluationSets(*(images[:asked], labels[:asked]) * 2, images, labels)
    evaluator = Evaluator(sets, Protocol(), seed=0)
    queries = rng.standard_normal((asked, FEATURES), dtype=np.float32)
    at_start = peak() - queries.nbytes / 1e6
    evaluator.knn_full(
        lambda part: rng.standard_normal((len(part), FEATURES), dtype=np.float32), queries
    )
    return peak() - at_start


if __name__ == "__main__":
    print(json.dumps(child(int(sys.argv[1]), int(sys.argv[2]))))
