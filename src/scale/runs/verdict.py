"""One sentence at the end of a run: did it learn anything, and what to do next."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from scale._errors import ScaleError
from scale._text import shell_line
from scale.evaluate import FLOORS, Guard
from scale.runs.config import read_config
from scale.runs.metrics import read_metrics

YES, SOME, UNCLEAR, NO, UNKNOWN = "yes", "some", "not clearly", "no", "unknown"
MANY = 10**12  # images, if their number is not known: then every difference counts
NEVER = ("frozen", "random", "pixels")  # methods that are floors too
EASY = 90.0  # a score of the start above which the final one shows little


class Verdict(NamedTuple):
    """Whether a run learned anything."""

    learned: str
    """yes, some, not clearly, no or unknown."""
    text: str
    """The answer as a sentence."""
    next: str
    """What to do: one or two commands; empty if the folder of the run is not known."""


def verdict(summary: dict[str, Any], folder: Path | None = None) -> Verdict:
    """Return whether a run learned anything, from its summary and the files in its folder.

    With labels it compares kNN with the floors, or with the learner that the run goes on from.
    Without labels it repeats the guard. A difference counts above two standard errors.

    Examples
    --------
    >>> found = verdict({"method": "er", "knn": 50.0, "floors": {"pixels": {"knn": 36.4}}})
    >>> found.learned, found.text
    ('yes', 'It learned: kNN 50.0 %; without learning, pixels reaches 36.4 %.')
    >>> verdict({"method": "er"}).learned
    'unknown'
    """
    learned, text = _judge(summary, folder)
    return Verdict(learned, text, _next(learned, summary, folder))


def _judge(summary: dict[str, Any], folder: Path | None) -> tuple[str, str]:
    if summary.get("collapsed"):
        return NO, "It learned nothing useful: its features collapsed."
    if summary.get("held_back"):
        return NO, "It learned nothing better than its pretrained start, and embeds with that."
    if "knn" not in summary:
        return _by_guard(summary)
    images, before = _facts(folder)
    if before is not None:
        return _by_start(summary["knn"], before, images)
    method = summary.get("method")
    if _is_floor(summary):
        return NO, f"It learns nothing, as a floor for others: kNN {summary['knn']:.1f} %."
    floors = {
        name: row["knn"]
        for name, row in (summary.get("floors") or {}).items()
        if name != method and "knn" in row
    }
    return _by_floors(summary["knn"], floors, images)


def _is_floor(summary: dict[str, Any]) -> bool:
    """Return whether the run's features are those of one of its own floors."""
    own = (summary.get("floors") or {}).get(summary.get("method"), {})
    return summary.get("method") in NEVER and own.get("knn") == summary["knn"]


def _by_guard(summary: dict[str, Any]) -> tuple[str, str]:
    if not summary.get("guard"):
        return UNKNOWN, "It is unknown whether it learned: there are no labels, and no guard."
    found = Guard.from_json(summary["guard"])
    scores = (
        f"it recognises {found.score:.0f} % of views of its images, its start "
        f"{found.start_score:.0f} %."
    )
    return _compared(found.score, found.start_score, found.images, scores)


def _by_start(knn: float, before: float, images: int) -> tuple[str, str]:
    return _compared(knn, before, images, f"kNN {knn:.1f} %, before this stream {before:.1f} %.")


def _by_floors(knn: float, floors: dict[str, float], images: int) -> tuple[str, str]:
    if not floors:
        return UNKNOWN, f"It is unknown whether it learned: kNN {knn:.1f} %, and no floors."
    best = max(floors, key=lambda name: floors[name])
    told = f"kNN {knn:.1f} %; without learning, {_title(best)} reaches {floors[best]:.1f} %."
    start = next((name for name in ("frozen", "random") if name in floors), best)
    if knn <= floors[best] and _is_above(knn, floors[start], images):
        return SOME, f"It learned something, but too little: {told}"
    return _compared(knn, floors[best], images, told)


def _compared(score: float, other: float, images: int, told: str) -> tuple[str, str]:
    if _is_above(score, other, images):
        return YES, f"It learned: {told}"
    if other >= EASY:
        return UNCLEAR, f"It is unclear whether it learned, as little was left to gain: {told}"
    if score > other:
        return UNCLEAR, f"It did not clearly learn: {told}"
    return NO, f"It learned nothing useful: {told}"


def _is_above(score: float, other: float, images: int) -> bool:
    return Guard(score, other, images).better


def _title(floor: str) -> str:
    return {"random": "its untrained start", "frozen": "its pretrained start"}.get(
        floor, FLOORS.get(floor, floor)
    )


def _facts(folder: Path | None) -> tuple[int, float | None]:
    """Return the number of evaluation images, and kNN of the learner that the run goes on from."""
    if folder is None:
        return MANY, None
    try:
        config = read_config(folder)
        images = ((config.get("data") or {}).get("evaluation") or {}).get("eval") or MANY
        if "start" not in config:
            return images, None
        first = read_metrics(folder / "metrics.jsonl", "evaluation")[0]
    except (ScaleError, OSError, IndexError):
        return MANY, None
    return images, first.get("knn") if first["position"] == 0 else None


def _next(learned: str, summary: dict[str, Any], folder: Path | None) -> str:
    if folder is None:
        return ""
    report = shell_line(["scale", "report", str(folder)])
    if learned in (YES, UNKNOWN) or ("knn" in summary and _is_floor(summary)):
        return report
    settings = shell_line(["scale", "methods", str(summary.get("method"))])
    return f"{report} (its curves), {settings} (settings to change)"
