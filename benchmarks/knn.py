"""kNN accuracy of 5,000 images, 512 features, k = 50."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from benchmarks._measure import Row, median_of, row
from scale.evaluate import knn_predict


def main(quick: bool = False) -> list[Row]:
    """Time banks of two sizes, after checking that both libraries predict the same."""
    queries, banks = (50, (100,)) if quick else (5000, (1000, 10_000))
    rng = np.random.default_rng(0)
    rows = []
    for size in banks:
        bank, asked = (
            rng.standard_normal((count, 512), dtype=np.float32) for count in (size, queries)
        )
        labels = rng.integers(0, 10, size)
        theirs = KNeighborsClassifier(50, algorithm="brute").fit(bank, labels)
        found = {
            "ours": lambda: knn_predict(bank, labels, asked, k=50),  # noqa: B023
            "sklearn": lambda: theirs.predict(asked),  # noqa: B023
        }
        if np.mean(found["ours"]() == found["sklearn"]()) < 0.99:  # rounding decides ties
            raise AssertionError("knn_predict and scikit-learn predict different labels")
        cost = median_of(
            {**found, "product": lambda: asked @ bank.T},  # noqa: B023
            3,
            warm_up=False,
        )
        rows.append(
            row(
                f"kNN of {queries:,} images, bank of {size:,}",
                cost["ours"] * 1e3,
                ("scikit-learn, brute force", cost["sklearn"] * 1e3),
                ("one product of all pairs", cost["product"] * 1e3),
            )
        )
    return rows
