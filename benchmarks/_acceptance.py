"""Count the views accepted as pseudo-positives, and how many of them are of the same class."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from benchmarks._batches import Batch
from scale.losses import (
    dot_products,
    image_similarity,
    label_positives,
    pseudo_positives,
    pseudo_positives_of_images,
    symmetric_sne,
    twin_positives,
)
from scale.methods import Replay

KAPPAS = (0.01, 0.03, 0.1, 0.3)
MUS = (0.05, 0.1, 0.3, 0.6, 0.9)

Cell = tuple[str, float, float]
"""Space, kappa and mu."""


@dataclass
class Tally:
    """Pairs of a stream view and another one, counted over batches."""

    batches: int = 0
    views: int = 0
    candidates: int = 0
    """Other stream views."""
    accepted: int = 0
    """Candidates that are pseudo-positives."""
    others: int = 0
    """Candidates that are not the view's twin."""
    others_of_class: int = 0
    """Candidates of the view's class, twins left out."""
    others_accepted: int = 0
    accepted_of_class: int = 0

    def __add__(self, more: Tally) -> Tally:
        return Tally(
            *(a + b for a, b in zip(vars(self).values(), vars(more).values(), strict=True))
        )

    def rates(self) -> dict[str, float | None]:
        """Return the mean number of pseudo-positives per view, and shares in percent.

        `pairs` counts the accepted pairs that are not twins, and `precision` is the share of them
        with equal classes. It is None without pairs, or when all candidates are of one class.
        `chance` is the precision of accepting at random.
        """
        correct = self.accepted_of_class if self.others_of_class < self.others else None
        return {
            "batches": self.batches,
            "pseudo_positives": round(self.accepted / self.views, 4),
            "share": _percent(self.accepted, self.candidates),
            "pairs": self.others_accepted,
            "precision": _percent(correct, self.others_accepted),
            "chance": _percent(self.others_of_class, self.others),
        }


def tallies(learner: Replay, batch: Batch) -> Iterator[tuple[Cell, Tally]]:
    """Yield the pseudo-positives that an update with this batch would have, for each cell.

    The forward pass is in training mode, so BatchNorm uses the statistics of the views.
    """
    n = batch.n
    with torch.no_grad():
        z = learner.project(batch.views)  # (2(m+n), 128)
    h = learner.features_  # (2(m+n), d)
    assert h is not None
    dots = dot_products(z)
    twins = twin_positives(n, 2 * n)  # (2n, 2n)
    of_class = label_positives(batch.labels.repeat(2)) & ~twins
    for kappa in KAPPAS:
        of_views, of_images = symmetric_sne(dots, kappa), image_similarity(h, n, kappa)
        for mu in MUS:
            found = {
                "z": pseudo_positives(of_views, n, mu),
                "h": pseudo_positives_of_images(of_images, n, mu),
            }
            for space, positives in found.items():
                accepted = positives[:, : 2 * n]
                others = accepted & ~twins
                yield (
                    (space, kappa, mu),
                    Tally(
                        batches=1,
                        views=2 * n,
                        candidates=2 * n * (2 * n - 1),
                        accepted=int(accepted.sum()),
                        others=2 * n * (2 * n - 2),
                        others_of_class=int(of_class.sum()),
                        others_accepted=int(others.sum()),
                        accepted_of_class=int((others & of_class).sum()),
                    ),
                )


def _percent(part: int | None, whole: int) -> float | None:
    return None if part is None or whole == 0 else round(100 * part / whole, 4)
