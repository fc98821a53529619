"""Accuracy along the stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from scale._errors import InputError
from scale.evaluate.measures import FLOORS, MEASURES
from scale.report._figure import (
    BLUE,
    GREY,
    VERMILION,
    check_rows,
    clean,
    label_right,
    lay_out,
    new_figure,
    save,
    tell_start,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = (("knn", BLUE, "o"), ("acc", VERMILION, "s"))


def draw_curve(
    evaluations: Sequence[Mapping[str, Any]],
    floors: Mapping[str, Mapping[str, Any]],
    path: str | Path,
    title: str = "",
) -> None:
    """Draw kNN and clustering accuracy over the images seen.

    Parameters
    ----------
    evaluations
        Each with `position` (images seen) and, in percent, `knn` and `acc`.
    floors
        Measures of each floor; its `knn` is a dashed line.
    path
        The PNG to write.
    title
        Title of the picture.
    """
    check_rows("evaluations", evaluations, ("position",))
    check_rows("floors", floors.values() if isinstance(floors, Mapping) else floors)
    if not evaluations:
        raise InputError("there is no evaluation to draw; expected at least one")
    figure = new_figure(7.2, 4.2)
    axes = figure.add_subplot()
    labels = [*_draw_floors(axes, floors), *_draw_measures(axes, evaluations)]
    _dress(axes, max(1, *(evaluation["position"] for evaluation in evaluations)), title)
    lay_out(figure)  # sets the height of the axes, which places the labels
    if labels:
        values, texts, colours = zip(*labels, strict=True)
        label_right(axes, values, texts, colours)
    save(figure, path)


def _draw_floors(
    axes: Axes, floors: Mapping[str, Mapping[str, Any]]
) -> list[tuple[float, str, str]]:
    """Draw the floors' kNN and return the height, text and colour of their labels."""
    labels = []
    for name, measures in floors.items():
        value = float(measures.get("knn", np.nan))
        if np.isfinite(value):
            axes.axhline(value, color=GREY, linewidth=0.9, linestyle=(0, (5, 4)), zorder=1)
            labels.append((value, f"{FLOORS.get(name, name)} kNN {value:.1f}", GREY))
    return labels


def _draw_measures(
    axes: Axes, evaluations: Sequence[Mapping[str, Any]]
) -> list[tuple[float, str, str]]:
    """Draw the learner's measures and return the labels of their last values."""
    positions = np.array([evaluation["position"] for evaluation in evaluations])
    labels = []
    for key, colour, marker in SHOWN:
        series = np.array([evaluation.get(key, np.nan) for evaluation in evaluations], dtype=float)
        known = np.isfinite(series)
        if known.any():
            style = f"-{marker}"
            line = axes.plot(positions[known], series[known], style, color=colour, clip_on=False)
            line[0].set(markersize=4.5, linewidth=1.8)
            last = float(series[known][-1])
            labels.append((last, f"{MEASURES[key].title} {last:.1f}", colour))
    return labels


def _dress(axes: Axes, end: float, title: str) -> None:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    clean(axes)
    low, high = axes.get_ylim()
    axes.set_ylim(max(0, low - 1), min(100, high + 1))
    axes.set_xlim(0, end)
    axes.grid(axis="y", color="#E6E6E6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlabel("stream position (images seen)")
    axes.set_ylabel("accuracy (%)")
    tell_start(axes)
    axes.set_title(title, loc="left", fontsize=11)
