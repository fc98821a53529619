"""Final accuracy as bars: a panel for each dataset, a group for each stream (Figure 4)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from scale.evaluate import MEASURES
from scale.report._figure import GREY
from scale.report.groups import FLOOR, Group, floors_of
from scale.report.plots.axes import drawn_groups
from scale.report.plots.style import (
    INK,
    Style,
    code_told,
    deviation,
    dress,
    label_lines,
    legend,
    note,
    panels,
    seeds_told,
    styles,
)
from scale.report.records import Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DASHED = (0, (5, 4))
NARROW = 0.1  # width below which bars have small dots
CHARACTERS = 75  # characters that fit below a panel
THICK = 2.0  # the line of a method that sees labels


def draw_bars(selection: Selection) -> Figure:
    """Draw a bar for each method or variant, with its seeds, beside floors and the paper's values.

    A method that sees labels is a line across its group; floors are dashed.
    """
    groups = drawn_groups(selection)
    floors = floors_of(groups)
    by_panel = [list(found) for _, found in groupby(groups, lambda group: group.panel)]
    named_below = max(len({group.column for group in panel}) for panel in by_panel) == 1
    figure, axes = panels(len(by_panel), 1, 3.2 if named_below else 2.6)
    marks = styles([group.name for group in groups])
    labels = []
    for panel, found in zip(axes, by_panel, strict=True):
        labels.append(_draw_panel(panel, found, floors, selection.measure, marks, named_below))
        panel.set_ylabel(MEASURES[selection.measure].axis)
    if named_below:
        _name_once(axes)
    legend(figure, _handles(groups, selection, {} if named_below else marks))
    note(figure, _note(groups, floors, selection.measure))
    label_lines(figure, axes, labels)
    return figure


def _draw_panel(
    axes: Axes,
    groups: list[Group],
    floors: list[Group],
    measure: str,
    marks: dict[str, Style],
    named_below: bool,
) -> list[tuple[float, str, str]]:
    """Draw the groups of a panel; return height, text and colour of the labels of its lines."""
    ticks = dict[float, str]()
    labels, bars = list[tuple[float, str, str]](), list[tuple[float, list[float]]]()
    names = list(dict.fromkeys(group.name for group in groups if not group.sees_labels))
    width = (0.96 if named_below else 0.86) / max(len(names), 1)
    thick = min(0.9 * width, 0.12)
    for place, (stream, found) in enumerate(groupby(groups, lambda group: group.column)):
        of_stream = list(found)
        labels = _draw_floors(axes, place, of_stream[0], floors, measure)
        for group in of_stream:
            values = group.values(measure)
            paper = paper_value(group, measure)
            if group.sees_labels:
                labels += _draw_reference(axes, place, group.name, values, paper)
                continue
            x = place + width * (names.index(group.name) - (len(names) - 1) / 2)
            style = marks[group.name]
            hatch = "" if named_below else style.hatch  # in the colour of the edge
            face: dict[str, Any] = {"color": style.colour, "edgecolor": "white", "hatch": hatch}
            axes.bar(x, np.mean(values), thick, linewidth=0, zorder=2, **face)
            bars.append((x, values))
            _draw_paper(axes, x + 0.3 * thick, paper)  # beside the whiskers
            if named_below:
                ticks[x] = group.name
        if not named_below:
            ticks[place] = stream
    _draw_seeds(axes, bars, thick)
    title = groups[0].title if named_below else groups[0].panel
    _dress_bars(axes, title, ticks, named_below)
    return labels


def paper_value(group: Group, measure: str) -> float | None:
    """Return the paper's value; it exists only for kNN."""
    return group.paper if measure == "knn" else None


def _draw_seeds(axes: Axes, bars: Sequence[tuple[float, Sequence[float]]], width: float) -> None:
    """Draw a dot for each seed, side by side, and the standard deviation of several seeds."""
    several = [(x, values) for x, values in bars if len(values) > 1]
    if several:
        means = [np.mean(values) for _, values in several]
        errors = [deviation(values) for _, values in several]
        axes.errorbar([x for x, _ in several], means, errors, fmt="none", **_WHISKERS)
    dots = [
        (x + shift, value)
        for x, values in bars
        for shift, value in zip(_shifts(len(values), width), values, strict=True)
    ]
    if dots:
        x, y = zip(*dots, strict=True)
        axes.scatter(x, y, 5 if width > NARROW else 2, **_DOTS)


def _shifts(count: int, width: float) -> list[float]:
    reach = min(width / 4, 0.02)
    return [0.0] if count == 1 else list(np.linspace(-reach, reach, count))


def _draw_paper(axes: Axes, x: float, value: float | None) -> None:
    if value is not None:
        axes.plot(x, value, **_PAPER, zorder=6)


def _draw_reference(
    axes: Axes, place: int, name: str, values: Sequence[float], paper: float | None
) -> list[tuple[float, str, str]]:
    mean = float(np.mean(values))
    axes.hlines(mean, place - 0.48, place + 0.48, color=INK, linewidth=THICK, zorder=3)
    if len(values) > 1:
        axes.errorbar(place + 0.46, mean, deviation(values), **_WHISKERS)
    if paper is not None:  # a leader line, because there is no bar below the mark
        axes.vlines(place + 0.44, mean, paper, color=INK, linewidth=0.6, zorder=3)
        _draw_paper(axes, place + 0.44, paper)
    return [(mean, f"{name} (labels)", INK)]


def _draw_floors(
    axes: Axes, place: int, group: Group, floors: Sequence[Group], measure: str
) -> list[tuple[float, str, str]]:
    """Draw the floors of a group's dataset and stream; return their labels."""
    labels = []
    for floor in floors:
        if floor.place == group.place and floor.values(measure):
            value = floor.mean(measure)
            line: dict[str, Any] = {"color": GREY, "linewidth": 0.9, "linestyle": DASHED}
            axes.hlines(value, place - 0.5, place + 0.5, **line, zorder=3)
            labels.append((value, floor.name.removeprefix(FLOOR), GREY))
    return labels


def _dress_bars(axes: Axes, title: str, ticks: dict[float, str], named_below: bool) -> None:
    dress(axes, title)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5, (0 if named_below else len(ticks) - 1) + 0.5)
    room = int(CHARACTERS / max(len(ticks), 1))
    fits = all(len(word) <= room for name in ticks.values() for word in name.split())
    axes.set_xticks(list(ticks), [fill(name, room) if fits else name for name in ticks.values()])
    if not fits:
        for label in axes.get_xticklabels():
            label.set(rotation=40, ha="right", rotation_mode="anchor")
    low, high = axes.get_ylim()
    axes.set_ylim(min(0.0, low), high)


def _name_once(axes: Sequence[Axes]) -> None:
    """Name the bars only below the last panel if all panels have the same bars."""
    names = [[label.get_text() for label in panel.get_xticklabels()] for panel in axes]
    if all(found == names[0] for found in names):
        for panel in axes[:-1]:
            panel.set_xticklabels([])


def _handles(groups: Sequence[Group], selection: Selection, marks: dict[str, Style]) -> list[Any]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    bars = dict.fromkeys(group.name for group in groups if not group.sees_labels)
    handles: list[Any] = [
        Patch(facecolor=marks[n].colour, edgecolor="white", hatch=marks[n].hatch, label=n)
        for n in bars
        if n in marks
    ]
    if any(paper_value(g, selection.measure) is not None for g in groups):
        handles.append(Line2D([], [], **_PAPER, label="paper"))
    return handles


def _note(groups: Sequence[Group], floors: Sequence[Group], measure: str) -> str:
    text = seeds_told(groups)
    if text != "one seed":
        text += ", ± standard deviation; dots: each seed"
    if any(floor.values(measure) for floor in floors):
        text += "; dashed: features that learn nothing"
    return text + code_told(groups)


_WHISKERS: dict[str, Any] = {"ecolor": INK, "elinewidth": 0.9, "capsize": 1.5, "zorder": 4}
_DOTS: dict[str, Any] = {
    "color": "white",
    "edgecolors": INK,
    "linewidths": 0.5,
    "zorder": 5,
}
_PAPER: dict[str, Any] = {
    "marker": "D",
    "markersize": 4.5,
    "markerfacecolor": "white",
    "markeredgecolor": INK,
    "markeredgewidth": 1.0,
    "linestyle": "none",
}
