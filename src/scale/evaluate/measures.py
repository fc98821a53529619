"""The measures of a run: one list for tables, figures, claims, the display and help."""

from __future__ import annotations

from dataclasses import dataclass

EARLY = 0.1
"""Share of the stream after which an evaluation counts for `least`."""


@dataclass(frozen=True)
class Measure:
    """One measure and how it is shown."""

    name: str
    """Key in summaries and records, and the name that `--columns` and `--measure` take."""
    title: str
    """Title of its column."""
    meaning: str
    """What it is, in one sentence."""
    unit: str = "%"
    higher_is_better: bool | None = True
    """None when neither direction is better."""
    digits: int = 2
    """Decimals in tables."""
    on_screen: bool = False
    """Whether a run shows it at each evaluation."""

    @property
    def axis(self) -> str:
        """Return the name of an axis that shows it.

        Examples
        --------
        >>> MEASURES["knn"].axis
        'kNN (%)'
        """
        return f"{self.title} ({self.unit})" if self.unit else self.title


_ALL = (
    Measure(
        "knn",
        "kNN",
        "Accuracy at the end of the stream of a kNN classifier over the labelled bank.",
        on_screen=True,
    ),
    Measure(
        "acc",
        "ACC",
        "Accuracy of spectral clusters when each is given its best class.",
        on_screen=True,
    ),
    Measure(
        "kmeans_acc",
        "k-means ACC",
        "Accuracy of k-means clusters when each is given its best class.",
        on_screen=True,
    ),
    Measure(
        "nmi",
        "NMI",
        "Normalised mutual information of spectral clusters and classes.",
        on_screen=True,
    ),
    Measure("ari", "ARI", "Adjusted Rand index of spectral clusters and classes."),
    Measure(
        "linear",
        "linear probe",
        "Accuracy of a linear classifier fitted on the labelled bank.",
        on_screen=True,
    ),
    Measure(
        "knn_full",
        "kNN, all labels",
        "Accuracy of a weighted kNN classifier over the whole train split.",
        on_screen=True,
    ),
    Measure("average", "mean kNN", "Mean of kNN over the stream, the start left out."),
    Measure("least", "lowest kNN", "Lowest kNN after the first tenth of the stream."),
    Measure(
        "forgetting",
        "forgetting",
        "Mean over classes of the best accuracy so far minus the last.",
        "points",
        False,
    ),
    Measure(
        "forgetting_seen",
        "forgetting once seen",
        "Forgetting that counts a class only after half of its images.",
        "points",
        False,
    ),
    Measure("drop", "drop", "Highest kNN so far minus the last.", "points", False),
    Measure(
        "effective_rank",
        "effective rank",
        "Number of directions that the features use; near 1 means collapse.",
        "",
        None,
        1,
        on_screen=True,
    ),
    Measure("time", "time", "Minutes of the run, the evaluations included.", "min", False),
    Measure("memory", "peak memory", "Largest memory of the process.", "MB", False, 0),
)
MEASURES = {measure.name: measure for measure in _ALL}
"""All measures by name, in the order in which they are shown."""
FLOORS = {"frozen": "frozen", "random": "random", "pixels": "pixels", "pca": "pca (bank)"}
"""Titles of the floors by the key in records. The floor `pca` is fitted on the bank, and the
method `pca` on the stream, so their titles differ. A learner that starts from pretrained weights
has the floor `frozen` instead of `random`."""
