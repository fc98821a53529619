"""er with the small encoder on a class-ordered stream of digits in bf16, beside fp32."""

from __future__ import annotations

import time

import numpy as np

import scale
from benchmarks._measure import Row, row
from scale.evaluate import knn_accuracy
from scale.methods import ER


def main(quick: bool = False) -> list[Row]:
    """Compare kNN errors of held-out digits over seeds, and the time to learn."""
    digits = scale.load_dataset("digits")
    seeds, stream, bank = (1, 128, 60) if quick else (3, 1000, 300)
    found: dict[str, list[tuple[float, float]]] = {"fp32": [], "bf16": []}
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(digits.images))
        seen, rest = order[:stream], order[stream:]
        seen = seen[np.argsort(digits.labels[seen], kind="stable")]
        for precision, results in found.items():
            learner = ER(
                encoder="cnn",
                augmentation="digits",
                steps_per_batch=2,
                precision=precision,  # type: ignore[arg-type]
                seed=seed,
            )
            start = time.perf_counter()
            for batch in scale.batches(digits.images[seen], batch_size=64):
                learner.partial_fit(batch)
            seconds = time.perf_counter() - start
            z, labels = learner.transform(digits.images[rest]), digits.labels[rest]
            right = knn_accuracy(z[:bank], labels[:bank], z[bank:], labels[bank:], k=20)
            results.append((100 * (1 - right), seconds * 1e3))
    means = {precision: np.mean(results, axis=0) for precision, results in found.items()}
    errors = ", ".join(f"{bf[0] - fp[0]:+.1f}" for fp, bf in zip(*found.values(), strict=True))
    return [
        row(
            f"kNN error in bf16, {seeds} seeds",
            float(means["bf16"][0]),
            ("in fp32", float(means["fp32"][0])),
            unit="%",
            note=f"differences by seed: {errors}",
        ),
        row(
            f"learning {stream} digits in bf16",
            float(means["bf16"][1]),
            ("in fp32", float(means["fp32"][1])),
        ),
    ]
