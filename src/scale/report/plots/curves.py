"""Accuracy along the stream: mean over seeds with a band (Figure 5)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from scale._errors import InputError
from scale._names import unknown_name
from scale.bench import Record
from scale.evaluate import MEASURES
from scale.report._figure import GREY, tell_start
from scale.report.groups import FLOOR, Group, floors_of, make_groups
from scale.report.plots.axes import in_order
from scale.report.plots.bars import DASHED
from scale.report.plots.style import (
    Style,
    code_told,
    dress,
    label_lines,
    legend,
    note,
    panels,
    room_for_labels,
    seeds_told,
    styles,
)
from scale.report.records import Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

Curve = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def draw_curves(selection: Selection) -> Figure:
    """Draw a measure over the images seen: a panel for each dataset and stream.

    Names are at the ends of the lines, or in a legend if there are too many.
    """
    measure = selection.measure
    found_groups = make_groups(_with_curves(selection.records, measure))
    groups, floors = in_order(found_groups, selection.experiment), floors_of(found_groups)
    places = groupby(groups, lambda group: (group.panel, group.column))
    by_panel = [list(found) for _, found in places]
    figure, axes = panels(len(by_panel), 2, 2.7)
    marks = styles([group.name for group in groups])
    labels = []
    for panel, found in zip(axes, by_panel, strict=True):
        labels.append(_draw_panel(panel, found, floors, measure, marks))
        dress(panel, found[0].title, MEASURES[measure].axis)
        tell_start(panel)
    seeds = seeds_told(groups)
    band = "" if seeds == "one seed" else ", band ± standard deviation"
    dashed = "; grey and dashed: features that learn nothing"
    note(figure, f"{seeds}{band}{dashed}{code_told(groups)}")
    _name_lines(figure, axes, labels, marks)
    return figure


def average_curve(group: Group, measure: str) -> Curve:
    """Return positions, mean and standard deviation over the seeds.

    Streams of different seeds may differ in length. So the first evaluations are averaged, then the
    second ones, and so on, also in their position.
    """
    curves = [record["curve"] for record in group.records.values()]
    longest = max(curves, key=lambda curve: len(curve["position"]))
    shares = np.array(longest["position"]) / max(longest["position"][-1], 1)
    positions, values = [], []
    for curve in curves:
        at, found = np.array(curve["position"], float), np.array(curve[measure], float)
        if len(at) != len(shares):  # fewer evaluations: interpolate
            found = np.interp(shares, at / max(at[-1], 1), found)
            at = shares * at[-1]
        positions.append(at)
        values.append(found)
    spread = np.std(values, axis=0, ddof=1) if len(values) > 1 else np.zeros(len(shares))
    return np.mean(positions, axis=0), np.mean(values, axis=0), spread


def _with_curves(records: list[Record], measure: str) -> list[Record]:
    known = [name for name in MEASURES if any(name in r.get("curve", {}) for r in records)]
    if not known:
        raise InputError(
            "no record has evaluations along the stream; "
            "make records from the folders of the runs: scale table RUNS --to NEW.jsonl"
        )
    if measure not in known:
        raise unknown_name("measure along the stream", measure, known)
    return [record for record in records if measure in record.get("curve", {})]


def _draw_panel(
    axes: Axes,
    groups: Sequence[Group],
    floors: Sequence[Group],
    measure: str,
    marks: dict[str, Style],
) -> list[tuple[float, str, str]]:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    labels = []
    for floor in floors:
        if floor.place == groups[0].place and floor.values(measure):
            value = floor.mean(measure)
            axes.axhline(value, color=GREY, linewidth=0.9, linestyle=DASHED, zorder=1)
            labels.append((value, floor.name.removeprefix(FLOOR), GREY))
    end = 1.0
    for group in groups:
        style = marks[group.name]
        positions, mean, spread = average_curve(group, measure)
        if spread.any():
            shade: dict[str, Any] = {"color": style.colour, "alpha": 0.18, "linewidth": 0}
            axes.fill_between(positions, mean - spread, mean + spread, **shade)
        line = axes.plot(positions, mean, color=style.colour, linestyle=style.dash)[0]
        line.set(
            marker=style.marker, markersize=3.5, linewidth=1.4, label=group.name, clip_on=False
        )
        labels.append((float(mean[-1]), group.name, style.colour))
        end = max(end, float(positions[-1]))
    axes.set_xlim(0, end)
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.set_xlabel("images seen")
    return labels


def _name_lines(
    figure: Figure,
    axes: Sequence[Axes],
    labels: Sequence[Sequence[tuple[float, str, str]]],
    marks: dict[str, Style],
) -> None:
    """Name the lines at their ends; if they do not fit, name the floors and draw a legend."""
    fits = max(map(len, labels)) <= room_for_labels(figure, axes[0])
    lines: dict[str, Line2D] = {}
    for line in (line for panel in axes for line in panel.lines):
        if str(line.get_label()) in marks:
            lines.setdefault(str(line.get_label()), line)
    if not fits:
        legend(figure, list(lines.values()))
    shown = [[one for one in found if fits or one[1] not in marks] for found in labels]
    label_lines(figure, axes, shown)
