"""Accuracy by one setting: lambda, mu, the sizes of batches (Figures 6 to 8)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from scale.evaluate import MEASURES
from scale.report._figure import tell_start
from scale.report.groups import Group
from scale.report.plots.axes import (
    axis_name,
    drawn_groups,
    is_number,
    tell_value,
    value_of,
    values_of,
    varied_settings,
)
from scale.report.plots.style import (
    Style,
    code_told,
    deviation,
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

APART = 2.2  # points between the marks of two lines at the same value
Line = tuple[str, list[Group]]


def draw_lines(selection: Selection) -> Figure:
    """Draw a measure over the varied setting: a line for each stream or method."""
    (setting,) = varied_settings(selection.records, selection.experiment, 1, "lines")
    groups = drawn_groups(selection, [setting])
    by_panel = [list(found) for _, found in groupby(groups, lambda group: group.panel)]
    figure, axes = panels(len(by_panel), 2, 2.9)
    lines = [_lines(found) for found in by_panel]
    marks = styles(list(dict.fromkeys(name for found in lines for name, _ in found)))
    labels = []
    for panel, found, of_panel in zip(axes, lines, by_panel, strict=True):
        values = values_of(of_panel, setting)
        labels.append(_draw_panel(panel, found, setting, values, selection.measure, marks))
        dress(panel, of_panel[0].panel, MEASURES[selection.measure].axis)
        tell_start(panel)
        panel.set_xlabel(axis_name(setting))
    seeds = seeds_told(groups)
    spread = "" if seeds == "one seed" else ", ± standard deviation"
    note(figure, f"{seeds}{spread}{code_told(groups)}")
    fits = max(map(len, labels)) <= room_for_labels(figure, axes[0])
    if fits:
        label_lines(figure, axes, labels)
    else:
        legend(figure, list({c.get_label(): c for p in axes for c in p.containers}.values()))
    return figure


def _lines(groups: Sequence[Group]) -> list[Line]:
    """Return the lines of a panel, named by stream, method or both."""
    by_line: dict[tuple[str, str], list[Group]] = defaultdict(list)
    for group in groups:
        by_line[group.column, group.name].append(group)
    streams, names = ({key[i] for key in by_line} for i in (0, 1))
    if len(names) == 1 and len(streams) > 1:
        return [(stream, found) for (stream, _), found in by_line.items()]
    if len(streams) == 1:
        return [(name, found) for (_, name), found in by_line.items()]
    return [(f"{name}, {stream}", found) for (stream, name), found in by_line.items()]


def _draw_panel(
    axes: Axes,
    lines: Sequence[Line],
    setting: str,
    values: list[Any],
    measure: str,
    marks: dict[str, Style],
) -> list[tuple[float, str, str]]:
    from matplotlib.transforms import ScaledTranslation

    scale = set_scale(axes, values)
    labels = []
    for number, (name, groups) in enumerate(lines):
        at = sorted(groups, key=lambda group: values.index(value_of(group, setting)))
        x = [scale[tell_value(value_of(group, setting))] for group in at]
        means = [float(np.mean(group.values(measure))) for group in at]
        errors = [deviation(group.values(measure)) for group in at]
        style = marks[name]
        shift = APART * (number - (len(lines) - 1) / 2) / 72
        marked = axes.errorbar(
            x,
            means,
            errors,
            color=style.colour,
            marker=style.marker,
            linestyle=style.dash,
            markersize=4.5,
            linewidth=1.4,
            elinewidth=0.9,
            capsize=2,
            label=name,
        )
        # Shifted after plotting, because the axes find their limits from unshifted data.
        beside = axes.transData + ScaledTranslation(shift, 0, axes.figure.dpi_scale_trans)
        for artist in marked.get_children():
            artist.set_transform(beside)
        labels.append((means[-1], name, style.colour))
    return labels


def set_scale(axes: Axes, values: Sequence[Any]) -> dict[str, float]:
    """Scale the axis for the values, put a tick at each, and return their positions.

    Numbers that span more than a decade get a logarithmic axis; a zero is one step left of the
    others. Values that are not numbers are evenly spaced.
    """
    if not all(map(is_number, values)):
        places = {tell_value(value): float(i) for i, value in enumerate(values)}
    else:
        places = {tell_value(value): float(value) for value in values}
        positive = [value for value in values if value > 0]
        if min(values) >= 0 and positive and max(positive) > 10 * min(positive):
            if len(positive) == len(values):
                axes.set_xscale("log")
            else:
                axes.set_xscale("symlog", linthresh=min(positive), linscale=0.4)
    axes.set_xticks(list(places.values()), list(places))
    axes.set_xticks([], minor=True)
    axes.margins(x=0.08)
    return places
